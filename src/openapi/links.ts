import { isRef, type OpenApi } from "./types.ts";

/**
 * Links from each operation that makes an item to those of the item: its id in the answer is the
 * path parameter that the item's path adds.
 */
export function addLinks(paths: OpenApi["paths"]): void {
  for (const [path, { post }] of Object.entries(paths)) {
    const answer = post?.responses["200"] ?? post?.responses["201"] ?? post?.responses["202"];
    if (post === undefined || answer === undefined || isRef(answer)) continue;
    const item = Object.keys(paths)
      .map((each) => each.match(/^(.*)\/\{(\w+_id)\}$/))
      .find((match) => match?.[1] === path);
    if (item == null) continue;
    const [itemPath, , id = ""] = item;
    const given = Object.fromEntries(
      post.parameters.filter((each) => each.in === "path").map(({ name }) => [name, `$request.path.${name}`]),
    );
    const parameters = { ...given, [id]: "$response.body#/result/id" };
    const operations = Object.entries(paths)
      .filter(
        ([each]) =>
          each === itemPath || (each.startsWith(`${itemPath}/`) && !each.slice(itemPath.length).includes("{")),
      )
      .flatMap(([, methods]) => Object.values(methods));
    answer.links = Object.fromEntries(operations.map(({ operationId }) => [operationId, { operationId, parameters }]));
  }
}
