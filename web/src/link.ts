// A link that holds the text: #eq=… is the text, deflated, in base64 for addresses.

async function through(data: Uint8Array, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  const body = new Blob([data as Uint8Array<ArrayBuffer>]).stream().pipeThrough(stream as ReadableWritablePair);
  return new Uint8Array(await new Response(body).arrayBuffer());
}

export async function packed(text: string): Promise<string> {
  const data = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  let letters = "";
  for (const byte of data) letters += String.fromCharCode(byte);
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The text, or null if the link is damaged. */
export async function unpacked(letters: string): Promise<string | null> {
  try {
    const bytes = atob(letters.replaceAll("-", "+").replaceAll("_", "/"));
    const data = Uint8Array.from(bytes, (letter) => letter.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(await through(data, new DecompressionStream("deflate-raw")));
  } catch {
    return null;
  }
}
