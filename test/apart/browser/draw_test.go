package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/internal/feature/guard/draw"
	"seckill/internal/testkit/drawtest"
	"seckill/test/box"
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
	for name, l := range drawtest.CalledOff() {
		names, pairs, want = append(names, name), append(pairs, pair{l, nil}), append(want, draw.Check(l, nil))
		for how, bought := range drawtest.Bought(l) {
			names = append(names, name+", and bought: "+how)
			pairs, want = append(pairs, pair{bought, nil}), append(want, draw.Check(bought, nil))
		}
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

// drawn is a public answer of a draw.
type drawn struct {
	State, Root string
	Entries     int64
}

// draw returns the public answer about the draw of a sale; its zero value if there is none.
func (s *shop) draw(voucher int64) (d drawn, text json.RawMessage) {
	s.tb.Helper()
	if _, text = s.ask(http.MethodGet, fmt.Sprintf("/voucher/%d/draw", voucher), 0, nil); len(text) > 0 {
		if err := json.Unmarshal(text, &d); err != nil {
			s.tb.Fatal(err)
		}
	}
	return d, text
}

// awaitDraw waits until the draw of a sale has the state, and its root if it is closed.
func (s *shop) awaitDraw(voucher int64, state string) (text json.RawMessage) {
	s.tb.Helper()
	box.Eventually(s.tb, "the draw becoming "+state, func() error {
		var d drawn
		if d, text = s.draw(voucher); d.State != state || state != draw.Open && d.Root == "" {
			return fmt.Errorf("it is %s, its root %q", d.State, d.Root)
		}
		return nil
	})
	return text
}

// entry enters a user into the draw of a sale, and returns their entry.
func (s *shop) entry(voucher, user int64) string {
	s.tb.Helper()
	var given struct{ Entry string }
	box.Eventually(s.tb, "the instance knowing the draw", func() error {
		s.must(http.MethodPost, fmt.Sprintf("/voucher/seckill/%d/ticket", voucher), user, nil, &given)
		if given.Entry == "" {
			return errors.New("nobody enters")
		}
		return nil
	})
	return given.Entry
}

// saved puts an answer into the page's field for one that was saved before.
func (w *window) saved(answer string) {
	w.tb.Helper()
	evaluate[bool](w, fmt.Sprintf(`(() => {
  const files = new DataTransfer();
  files.items.add(new File([%s], 'saved.json'));
  document.querySelector('#saved').files = files.files;
  return true; })()`, quoted(answer)))
}

// TestDrawFromTheConsole announces a draw in the console, after wrong inputs, enters its beacon, after wrong ones, and
// has the page on which anybody checks it follow: until the sale is called off, when key and list become public.
func TestDrawFromTheConsole(t *testing.T) {
	t.Parallel()
	s := realShop(t, "SECKILL_GUARD_SECRET", guardSecret)
	var made struct{ ID int64 }
	s.must(http.MethodPost, "/voucher/seckill", admin, map[string]any{
		"shopId": 1, "title": "50 for 10", "payValue": 1000, "actualValue": 5000, "stock": 5,
		"beginTime": time.Now().Add(30 * time.Minute), "endTime": time.Now().Add(2 * time.Hour),
		"guards": map[string]any{"tickets": map[string]any{"delayMs": 20000, "leadMinutes": 60, "expiryMinutes": 30}},
	}, &made)
	s.awaitState(made.ID, "not_started")
	console, public := fmt.Sprintf("/admin#/voucher/%d", made.ID), s.url(fmt.Sprintf("/draw?voucher=%d", made.ID))
	staff := open(t, s.url(console), s.asAdmin(desktop()))
	staff.sees("[data-draw=none]", "buyers have to trust")
	staff.accessible()
	staff.picture("console-draw-none-desktop", true)

	staff.click("[data-act=announce-draw]")
	staff.sees("dialog", "Announce a draw for “50 for 10”")
	staff.setsTime("closeTime", staff.inHours(1))
	staff.enter("#f-source", "drand quicknet")
	staff.click("[data-act=yes]")
	staff.sees(problemAt("closeTime"), "a time not after")
	staff.sees(problemAt("source"), "together with “Its round”")
	staff.accessible()
	staff.picture("console-draw-wrong-desktop", false)
	staff.setsTime("closeTime", staff.inHours(-1))
	staff.enter("#f-round", "number 31")
	staff.click("[data-act=yes]")
	staff.sees(problemAt("closeTime"), "a time after")
	staff.isRight("source")
	const closesIn = 75 // seconds
	staff.setsTime("closeTime", evaluate[string](staff, fmt.Sprintf("new Date(Date.now() + %d * 1e3 - "+
		"new Date().getTimezoneOffset() * 60e3).toISOString().slice(0, 19)", closesIn)))
	staff.click("[data-act=yes]")
	staff.seesNo("dialog")
	staff.sees("#notice .notice", "The draw is announced")
	staff.sees("[data-draw=open] .publish", "SHA-256 of the key: ")
	staff.sees("[data-draw=open] .publish", "drand quicknet, round number 31")
	entries := map[int64]string{}
	for user := int64(41); user < 44; user++ {
		entries[user] = s.entry(made.ID, user)
	}
	staff.accessible()
	staff.picture("console-draw-open-desktop", true)
	buyer := open(t, s.url("/"), s.signedIn(phone(), 41))
	buyer.sees(fmt.Sprintf(`article.card a[href*="/draw?voucher=%d"]`, made.ID), "Check the draw")
	buyer.picture("buyer-draw-phone", true)

	saved := string(s.awaitDraw(made.ID, draw.Closed))
	anybody := open(t, public+"#"+entries[41], phone().in("zh-CN"))
	anybody.sees("[data-state=closed]", "已停止参与")
	anybody.click("[data-act=check]")
	anybody.sees("[data-own]", "在名单中将显示为")
	anybody.accessible()
	anybody.picture("draw-closed-phone-zh", true)

	staff.sees("[data-draw=closed] .publish", "Entries: 3, root: ")
	staff.picture("console-draw-closed-desktop", true)
	zh := open(t, s.url(console), s.asAdmin(phone().in("zh-CN")))
	zh.sees("[data-draw=closed]", "请公布参与数与根哈希")
	zh.accessible()
	zh.picture("console-draw-closed-phone-zh", true)
	staff.click("[data-act=beacon]")
	staff.click("[data-act=yes]")
	staff.sees(problemAt("beacon"), "This is missing")
	for beacon, wrong := range map[string]string{"c0f fee": "is not a beacon", strings.Repeat("7", 257): "1 to 256"} {
		staff.sets("#f-beacon", beacon)
		staff.click("[data-act=yes]")
		staff.sees("[data-sure]", beacon)
		staff.click("[data-act=yes]")
		staff.sees(problemAt("beacon"), wrong)
	}
	staff.sets("#f-beacon", "decaf")
	staff.click("[data-act=yes]")
	staff.sees("[data-sure]", "decaf")
	staff.sets("#f-beacon", "c0ffee") // what was shown is not what would be sent
	staff.seesNo("[data-sure]")
	staff.click("[data-act=yes]")
	staff.sees("[data-sure]", "these 6 characters")
	staff.accessible()
	staff.picture("console-draw-beacon-desktop", false)
	staff.click("[data-act=yes]")
	staff.seesNo("dialog")
	staff.sees("[data-draw=drawn] .publish", "Its value: c0ffee")
	staff.accessible()

	s.must(http.MethodPost, fmt.Sprintf("/admin/voucher/%d/call-off", made.ID), admin,
		map[string]any{"why": "rain"}, nil)
	s.awaitDraw(made.ID, draw.Over)
	anybody = open(t, public+"#"+entries[41], desktop())
	anybody.sees("[data-state=over]", "key and list are public")
	anybody.saved(`{"data":` + saved + `}`)
	anybody.click("[data-act=check]")
	anybody.sees("[data-verdict=good]", "all 3 lines")
	anybody.sees("[data-verdict=good]", "Nothing has changed since you saved, when entries had ended")
	anybody.sees("[data-own]", " entries had an earlier one")
	anybody.accessible()
	anybody.picture("draw-over-desktop", true)
	anybody.saved(`{"data":` + strings.Replace(saved, `"delayMs":20000`, `"delayMs":30000`, 1) + `}`)
	anybody.sets("#entry", "1-9-0123456789abcdef")
	anybody.click("[data-act=check]")
	anybody.sees("[data-verdict=bad]", `delayMs was "30000", and is "20000"`)
	anybody.sees("[data-verdict=bad]", "is none of this draw")
	anybody.saved("[]")
	anybody.click("[data-act=check]")
	anybody.sees("#problem", "This file has no draw in it.")
	anybody.accessible()
}

// TestDrawThatCountsNoMore moves a sale's start before the close time of its draw: console and page say that the sale
// begins for nobody, and staff announce another draw, which lists the first.
func TestDrawThatCountsNoMore(t *testing.T) {
	t.Parallel()
	s := realShop(t, "SECKILL_GUARD_SECRET", guardSecret)
	voucher := s.withTickets("Noodles for two", 30*time.Minute, map[string]any{})
	s.must(http.MethodPut, fmt.Sprintf("/admin/voucher/%d/draw", voucher), admin,
		map[string]any{"closeTime": time.Now().Add(20 * time.Minute)}, nil)
	s.begins(voucher, 10*time.Minute)
	page := open(t, s.url(fmt.Sprintf("/draw?voucher=%d", voucher)), phone())
	page.sees("[data-state=void]", "start or delay, or the announcement, was changed")
	page.accessible()
	page.picture("draw-void-phone", true)
	staff := open(t, s.url(fmt.Sprintf("/admin#/voucher/%d", voucher)), s.asAdmin(phone().in("zh-CN")))
	staff.sees("[data-draw=void]", "活动不会对任何人开始")
	staff.accessible()
	staff.picture("console-draw-void-phone-zh", true)
	staff.click("[data-act=announce-draw]")
	staff.sees("dialog", "不填则买家只能相信")
	staff.accessible()
	staff.picture("console-draw-announce-phone-zh", false)
	staff.click("[data-act=yes]")
	staff.seesNo("dialog")
	staff.sees("[data-draw=open]", "第 1 次抽签自")
	page.click("[data-act=again]")
	page.sees("[data-state=open]", "enters, and gets an entry to keep")
	page.sees("main", "Draw 1 counted no more from")
	page.sees("main", "No public value was named.")
	page.accessible()
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
