/** The smallest PDF with a form: one page, one text field called "name". */
export function formPdf(): Buffer {
  const objects = [
    "<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[5 0 R]>>>>",
    "<</Type/Pages/Kids[3 0 R]/Count 1>>",
    "<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R/Resources<<>>/Annots[5 0 R]>>",
    "<</Length 0>>stream\n\nendstream",
    "<</Type/Annot/Subtype/Widget/FT/Tx/T(name)/Rect[10 10 100 30]/P 3 0 R/F 4>>",
  ];
  let text = "%PDF-1.4\n";
  const offsets = objects.map((object, i) => {
    const offset = text.length;
    text += `${i + 1} 0 obj${object}endobj\n`;
    return `${String(offset).padStart(10, "0")} 00000 n \n`;
  });
  const size = objects.length + 1;
  const table = `xref\n0 ${size}\n0000000000 65535 f \n${offsets.join("")}`;
  return Buffer.from(
    `${text}${table}trailer<</Size ${size}/Root 1 0 R>>\nstartxref\n${text.length}\n%%EOF\n`,
    "latin1",
  );
}
