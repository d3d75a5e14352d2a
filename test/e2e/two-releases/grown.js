/**
 * What code of a later release may add: a field to each call and each answer, a block to each
 * message.
 */
import { crc32 } from "node:zlib";

const FIELD = { of_a_later_release: true };
const BLOCK = { type: 99, bytes: new Uint8Array([1, 2, 3]) };

/** Of an object, or of each in a list. */
function grown(value) {
  if (Array.isArray(value)) return value.map(grown);
  const isPlain = typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
  return isPlain ? { ...value, ...FIELD } : value;
}

function grownAnswer(answer) {
  return answer instanceof Promise ? answer.then(grown) : grown(answer);
}

function namespaceOf(namespace) {
  const stubOf = (stub) =>
    new Proxy(stub, {
      get(target, name) {
        const member = target[name];
        if (typeof member !== "function" || name === "fetch") return member;
        return (...args) => target[name](...args.map(grown));
      },
    });
  return {
    get: (id) => stubOf(namespace.get(id)),
    getByName: (name) => stubOf(namespace.getByName(name)),
    idFromName: (name) => namespace.idFromName(name),
  };
}

/** A message with a further block at the end of its head: src/formats/queue/message.ts. */
function withBlock(body) {
  const headLength = new DataView(body.buffer, body.byteOffset).getUint32(28);
  const block = new Uint8Array(5 + BLOCK.bytes.length);
  block[0] = BLOCK.type;
  new DataView(block.buffer).setUint32(1, BLOCK.bytes.length);
  block.set(BLOCK.bytes, 5);
  const message = new Uint8Array(body.length + block.length);
  message.set(body.subarray(0, headLength));
  message.set(block, headLength);
  message.set(body.subarray(headLength), headLength + block.length);
  const view = new DataView(message.buffer);
  view.setUint32(28, headLength + block.length);
  view.setUint32(36, crc32(message.subarray(40, headLength + block.length), crc32(message.subarray(0, 36))));
  return message;
}

/** The environment as code of a later release would use it. */
export function later(env) {
  const namespaces = Object.entries(env).filter(([, value]) => typeof value?.idFromName === "function");
  return {
    ...env,
    ...Object.fromEntries(namespaces.map(([name, namespace]) => [name, namespaceOf(namespace)])),
    EVENTS: {
      sendBatch: (messages) => env.EVENTS.sendBatch(messages.map((each) => ({ ...each, body: withBlock(each.body) }))),
    },
  };
}

/** A class whose objects call, and answer, as those of a later release. */
export function laterClass(Class) {
  class Later extends Class {
    constructor(ctx, env) {
      super(ctx, later(env));
    }
  }
  for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(Class.prototype))) {
    if (typeof value !== "function" || ["constructor", "fetch", "alarm"].includes(name)) continue;
    Later.prototype[name] = function (...args) {
      return grownAnswer(value.apply(this, args));
    };
  }
  return Later;
}
