package browser

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"seckill/internal/feature/guard/draw"
	"seckill/internal/testkit/drawtest"
)

// drawVerdicts checks draws on the page, and says what is wrong in the words of the command.
const drawVerdicts = `(async (draws) => {
  const [{ check, drawIn }, { TEXTS }, { speak }] = await Promise.all(
    ['draw/verify', 'draw/texts', 'words'].map((name) => import('/assets/' + name + '.js')));
  const { t } = speak('en', TEXTS);
  return Promise.all(draws.map(async ({ now, was }) =>
    (await check(drawIn({ data: now }), was && drawIn({ data: was })))
      .map(({ line, what, values }) => (line ? 'line ' + line + ': ' : '') + t('wrong.' + what, values))));
})(%s)`

// TestDrawPageFindsWhatTheCommandFinds checks the lists of draw's own tests in the browser: the page finds the same, on
// the same lines and in the same words.
func TestDrawPageFindsWhatTheCommandFinds(t *testing.T) {
	t.Parallel()
	type pair struct {
		Now *draw.List `json:"now"`
		Was *draw.List `json:"was,omitempty"`
	}
	names, pairs, want := []string{"fair"}, []pair{{drawtest.Fair(), drawtest.Fair()}}, [][]draw.Wrong{nil}
	for name, c := range drawtest.Lists() {
		names = append(names, name, name+", with an earlier answer")
		pairs = append(pairs, pair{c.List(), nil}, pair{c.List(), drawtest.Fair()})
		want = append(want, draw.Check(c.List(), nil), draw.Check(c.List(), drawtest.Fair()))
	}
	text, err := json.Marshal(pairs)
	if err != nil {
		t.Fatal(err)
	}
	w := open(t, embeddedShop(t).url("/draw?voucher=1"), desktop())
	w.sees("main", "This sale has no draw.")
	w.accessible()
	got := evaluate[[][]string](w, fmt.Sprintf(drawVerdicts, text))
	if len(got) != len(want) || len(want) < 100 {
		t.Fatalf("%d verdicts on %d lists", len(got), len(want))
	}
	for i, wrong := range want {
		said := make([]string, len(wrong))
		for j, w := range wrong {
			said[j] = w.String()
		}
		if !slices.Equal(got[i], said) {
			t.Errorf("%s: the page says\n%q, the command\n%q", names[i], got[i], said)
		}
	}
}

// TestDrawPageWithoutHashes checks that the page names the command where the browser computes no hashes.
func TestDrawPageWithoutHashes(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(map[string]any{"success": true, "data": drawtest.Fair()})
	if err != nil {
		t.Fatal(err)
	}
	d := phone()
	d.script = fmt.Sprintf("Object.defineProperty(crypto, 'subtle', { value: undefined }); window.fetch = () => "+
		"Promise.resolve(new Response(%s, { headers: { 'Content-Type': 'application/json' } }));", quoted(string(text)))
	w := open(t, embeddedShop(t).url("/draw?voucher=5"), d)
	w.sees("[data-check] .note", "server draw verify http://")
	w.seesNo("[data-act=check]")
	w.accessible()
	w.picture("draw-no-hashes-phone", true)
}
