/** One rule says where this service may be sent: destinations, the webhook and UPSTREAM_API. */
import { describe, expect, it } from "vitest";
import { readConfig } from "../../src/config.ts";
import { parseWebhookUrl } from "../../src/operate/status/webhook.ts";
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

describe("a host", () => {
  it.each([
    "store.example",
    "s3.eu-west-1.amazonaws.com",
    "account.r2.cloudflarestorage.com",
    "internal.example",
    "localhost.example",
    "local.example",
    "metadata.example",
    "corp.example.com",
    "xn--bcher-kva.example",
    "8.8.8.8",
    "100.63.0.1",
    "100.128.0.1",
    "172.15.0.1",
    "172.32.0.1",
    "168.63.129.17",
    "223.255.255.255",
  ])("%s is public: https, and never http", (host) => {
    for (const allowLoopback of [false, true]) {
      expect(verdicts(`https://${host}/x`, allowLoopback)).toEqual(all(true));
      expect(verdicts(`http://${host}/x`, allowLoopback)).toEqual(all(false));
    }
  });

  it.each([
    // Names of private networks.
    "foo.internal",
    "a.b.internal",
    "printer.local",
    "db.localdomain",
    "router.lan",
    "router.home",
    "router.home.arpa",
    "wiki.corp",
    "wiki.intranet",
    "wiki.private",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "1.0.0.127.in-addr.arpa",
    "FOO.Internal",
    "foo.internal.",
    "localhost.",
    "x.localhost.",
    "minio.",
    // Metadata of clouds.
    "metadata",
    "metadata.google.internal",
    "METADATA.google.internal.",
    "metadata.goog",
    "instance-data",
    "instance-data.ec2.internal",
    "169.254.169.254",
    "169.254.170.2",
    "100.100.100.200",
    "192.0.0.192",
    "168.63.129.16",
    "[fd00:ec2::254]",
    // Addresses that are no public host, in every way to write them.
    "0.0.0.0",
    "0",
    "10.0.0.1",
    "167772161",
    "0xa9fea9fe",
    "0xa9.0xfe.0xa9.0xfe",
    "0251.0376.0251.0376",
    "169.254.43518",
    "2852039166",
    "\uff11\uff10.\uff10.\uff10.\uff11",
    "%31%30.0.0.1",
    "10\u30020.0.1",
    "10.0.0.1.",
    "100.64.0.1",
    "100.127.255.255",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "[::]",
    "[fd00::1]",
    "[fe80::1]",
    "[ff02::1]",
    "[::ffff:10.0.0.1]",
    "[::ffff:a9fe:a9fe]",
    "[::ffff:127.0.0.1]",
    "[64:ff9b::a9fe:a9fe]",
    "[2606:4700:4700::1111]",
  ])("%s is refused, in local development as elsewhere", (host) => {
    for (const allowLoopback of [false, true]) {
      expect(verdicts(`https://${host}/x`, allowLoopback)).toEqual(all(false));
      expect(verdicts(`http://${host}/x`, allowLoopback)).toEqual(all(false));
    }
  });

  it.each([
    "localhost",
    "localhost:9000",
    "x.localhost",
    "traces.store.localhost:9000",
    "127.0.0.1:9000",
    "127.1.2.3",
    "2130706433",
    "0x7f.1",
    "[::1]:9000",
    "minio:9000",
    "my_store",
    "s3-1",
  ])("%s is for local development, over http as well", (host) => {
    for (const scheme of ["http", "https"]) {
      expect(verdicts(`${scheme}://${host}/x`, true)).toEqual(all(true));
      expect(verdicts(`${scheme}://${host}/x`, false)).toEqual(all(false));
    }
  });
});
