/** Methods that every Node Buffer has and @types/node leaves out: the fast paths behind `toString`. */
interface Buffer {
  utf8Slice(start?: number, end?: number): string;
  latin1Slice(start?: number, end?: number): string;
}
