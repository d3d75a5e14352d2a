/** A function that logs what a test requests, and ships events itself over a service binding. */

interface Env {
  LOGSHIP: {
    ship(events: unknown, options?: { idempotencyKey?: string }): Promise<{ accepted: number; unknownKeys: string[] }>;
  };
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/ship") {
      try {
        const key = searchParams.get("key");
        const shipped = await env.LOGSHIP.ship(await request.json(), key === null ? {} : { idempotencyKey: key });
        return Response.json(shipped, { status: 202 });
      } catch (error) {
        return Response.json({ error: String(error) }, { status: 400 });
      }
    }
    console.log(searchParams.get("event"));
    return new Response("logged\n");
  },
};
