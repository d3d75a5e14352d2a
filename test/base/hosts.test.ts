/** One rule says where this service may be sent: destinations, the webhook and UPSTREAM_API. */
import { describe, expect, it } from "vitest";
import { readConfig } from "../../src/config.ts";
import { parseWebhookUrl } from "../../src/operate/alerts/webhook.ts";
import { parseDestination } from "../../src/ship/destinations/parse.ts";
import { LOCAL, PRODUCTION } from "../ship/destinations/context.ts";

const SETTINGS = {
  ACCOUNT_ID: "local",
  ADMIN_TOKEN: "an-admin-token-of-this-test",
  SECRETS_KEY: btoa("x".repeat(32)),
  SELF_NAME: "logship",
};

/** What each of those that are sent somewhere says of an address. */
function verdicts(url: string, allowLoopback: boolean): Record<string, boolean> {
  const conf = `s3://traces/x?region=auto&access-key-id=a&secret-access-key=b&endpoint=${encodeURIComponent(url)}`;
  const setting = `${allowLoopback}`;
  return {
    destination: parseDestination(conf, allowLoopback ? LOCAL : PRODUCTION).ok,
    webhook: parseWebhookUrl(url, allowLoopback).ok,
    upstream: readConfig({ ...SETTINGS, UPSTREAM_API: url, ALLOW_LOOPBACK_DESTINATIONS: setting }).ok,
    store: readConfig({ ...SETTINGS, OBJSTORE_ENDPOINT: url, ALLOW_LOOPBACK_DESTINATIONS: setting }).ok,
  };
}

const all = (ok: boolean) => ({ destination: ok, webhook: ok, upstream: ok, store: ok });

/** Hosts by what they are: a name, or an address in any way to write it. */
type Hosts = readonly (readonly [what: string, hosts: readonly string[]])[];

const PUBLIC: Hosts = [
  ["stores", ["store.example", "s3.eu-west-1.amazonaws.com", "account.r2.cloudflarestorage.com"]],
  ["words of private names elsewhere", ["internal.example", "localhost.example", "local.example", "corp.example.com"]],
  ["others", ["metadata.example", "xn--bcher-kva.example", "8.8.8.8", "168.63.129.17", "223.255.255.255"]],
  ["beside private networks", ["100.63.0.1", "100.128.0.1", "172.15.0.1", "172.32.0.1"]],
];

const REFUSED: Hosts = [
  ["internal", ["foo.internal", "a.b.internal", "FOO.Internal", "foo.internal."]],
  ["local", ["printer.local", "db.localdomain", "localhost.", "x.localhost.", "minio."]],
  ["of routers", ["router.lan", "router.home", "router.home.arpa", "1.0.0.127.in-addr.arpa"]],
  ["of companies", ["wiki.corp", "wiki.intranet", "wiki.private"]],
  ["of clusters", ["kubernetes.default.svc", "kubernetes.default.svc.cluster.local"]],
  ["metadata of Google", ["metadata", "metadata.google.internal", "METADATA.google.internal.", "metadata.goog"]],
  ["metadata of Amazon", ["instance-data", "instance-data.ec2.internal", "169.254.169.254", "169.254.170.2"]],
  ["metadata of others", ["100.100.100.200", "192.0.0.192", "168.63.129.16", "[fd00:ec2::254]"]],
  ["this host", ["0.0.0.0", "0", "[::]"]],
  [
    "10.0.0.0/8",
    ["10.0.0.1", "10.0.0.1.", "167772161", "\uff11\uff10.\uff10.\uff10.\uff11", "%31%30.0.0.1", "10\u30020.0.1"],
  ],
  ["169.254.0.0/16", ["0xa9fea9fe", "0xa9.0xfe.0xa9.0xfe", "0251.0376.0251.0376", "169.254.43518", "2852039166"]],
  ["100.64.0.0/10", ["100.64.0.1", "100.127.255.255"]],
  ["172.16.0.0/12 and 192.168.0.0/16", ["172.16.0.1", "172.31.255.255", "192.168.1.1"]],
  ["documentation and benchmarks", ["192.0.2.1", "198.51.100.7", "203.0.113.9", "198.18.0.1", "192.88.99.1"]],
  ["multicast and above", ["224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "[ff02::1]"]],
  ["IPv6 of a network", ["[fd00::1]", "[fe80::1]", "[2606:4700:4700::1111]"]],
  ["IPv4 in IPv6", ["[::ffff:10.0.0.1]", "[::ffff:a9fe:a9fe]", "[::ffff:127.0.0.1]", "[64:ff9b::a9fe:a9fe]"]],
];

const LOOPBACK: Hosts = [
  ["names", ["localhost", "localhost:9000", "x.localhost", "traces.store.localhost:9000"]],
  ["addresses", ["127.0.0.1:9000", "127.1.2.3", "2130706433", "0x7f.1", "[::1]:9000"]],
  ["names of containers", ["minio:9000", "my_store", "s3-1"]],
];

describe("a host", () => {
  it.each(PUBLIC)("is public: https, and never http: %s", (_what, hosts) => {
    for (const host of hosts)
      for (const allowLoopback of [false, true]) {
        expect(verdicts(`https://${host}/x`, allowLoopback), host).toEqual(all(true));
        expect(verdicts(`http://${host}/x`, allowLoopback), host).toEqual(all(false));
      }
  });

  it.each(REFUSED)("is refused, in local development as elsewhere: %s", (_what, hosts) => {
    for (const host of hosts)
      for (const allowLoopback of [false, true])
        for (const scheme of ["http", "https"])
          expect(verdicts(`${scheme}://${host}/x`, allowLoopback), host).toEqual(all(false));
  });

  it.each(LOOPBACK)("is for local development, over http as well: %s", (_what, hosts) => {
    for (const host of hosts)
      for (const scheme of ["http", "https"]) {
        expect(verdicts(`${scheme}://${host}/x`, true), host).toEqual(all(true));
        expect(verdicts(`${scheme}://${host}/x`, false), host).toEqual(all(false));
      }
  });
});
