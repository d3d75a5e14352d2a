/** Opens a web socket from an address, as Cloudflare would state it. @returns null: refused. */
export async function socketFrom(url: string, address: string): Promise<WebSocket | null> {
  const init = { headers: { "CF-Connecting-IP": address } };
  const socket = new WebSocket(url.replace(/^http/, "ws"), init as unknown as string[]);
  return new Promise((resolve) => {
    socket.onerror = () => resolve(null);
    socket.onopen = () => resolve(socket);
  });
}

/** The code that a socket is closed with. */
export const closeOf = (socket: WebSocket): Promise<number> =>
  new Promise((resolve) => {
    socket.onclose = ({ code }) => resolve(code);
  });
