package pages

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"seckill/internal/testkit/server"
)

// clockScript replays a server's answers to the page's client in simulated time, and throws if the client's estimate of
// the server's clock is wrong.
const clockScript = `
import assert from 'node:assert/strict';
import { Client } from './client.js';

let passed = 1000; // milliseconds of simulated time
const began = Date.UTC(2026, 5, 1, 20);
Object.defineProperty(globalThis, 'performance', { value: { now: () => passed } });

/** A client whose machine's clock is wrong by so much. Its line takes so long up, down, and for the body. */
function client(wrong, up, down, body) {
  Date.now = () => began + passed + wrong;
  globalThis.fetch = async () => {
    passed += up;
    const serverTime = new Date(began + passed).toISOString();
    passed += down;
    return { ok: true, status: 200, headers: new Map(), json: async () => ((passed += body), { success: true, serverTime }) };
  };
  return new Client();
}
const error = (c) => Math.abs(c.clock.now() - (began + passed));

for (const wrong of [0, -7200e3, 7200e3, 86400e3 * 365]) {
  for (let latency = 0; latency <= 400; latency += 25) {
    for (const body of [0, 100, 2000]) { // 50 KB take two seconds at 200 kbit/s
      const c = client(wrong, latency, /* down */ latency, body);
      await c.ask('GET', '/voucher/list/1');
      assert.ok(error(c) <= 50, 'wrong by ' + error(c) + ' ms after ' + latency + ' ms each way and ' + body + ' ms of body');
      Date.now = () => 0; // meanwhile the buyer changes their clock
      passed += 3600e3;
      assert.ok(error(c) <= 50, 'wrong by ' + error(c) + ' ms an hour later');
    }
  }
}
for (const [up, down] of [[400, 0], [0, 400], [300, 100]]) {
  const c = client(7200e3, up, down, 0);
  await c.ask('GET', '/voucher/list/1');
  assert.ok(error(c) <= Math.abs(up - down) / 2 + 1, 'wrong by ' + error(c) + ' ms with ' + up + ' ms up and ' + down + ' ms down');
}
// A slow answer must not replace the better estimate of a fast one.
const c = client(0, 20, 20, 0);
await c.ask('GET', '/voucher/list/1');
const fast = globalThis.fetch;
globalThis.fetch = async () => ((passed += 3000), fast());
await c.ask('GET', '/voucher/list/1');
assert.ok(error(c) <= 50, 'wrong by ' + error(c) + ' ms after a slow answer');
`

// Buttons open by the server's clock, whatever the buyer's clock says and however slow the line is. If the way there
// takes as long as the way back, the error is at most 50 ms; otherwise half the difference.
func TestServerClock(t *testing.T) {
	t.Parallel()
	node, err := server.Program(t.Context(), "node", "nodejs")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	client, err := os.ReadFile(filepath.Join("..", "..", "..", "web", "assets", "client.js"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"client.js": client, "clock.mjs": []byte(clockScript), "package.json": []byte(`{"type": "module"}`),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), node, "clock.mjs")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
