package guard

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"seckill/internal/feature"
	"seckill/internal/feature/guard/draw"
	"seckill/internal/kit/cmdline"
)

const drawHelp = `server draw verify checks the draw of a sale that is over, from outside: it needs
no settings and no rights.

  server draw verify https://shop.example/voucher/7/draw
  server draw verify -entry 7-1-0123456789abcdef URL   and your own line
  server draw verify -before saved.json URL            and what you saw before the sale

It computes the hash of the key, the root of the list and every moment anew, and
says which line is wrong. Without an earlier answer of the URL (-before), nobody
can tell whether the hash of the key and the root were the same before the sale.
Compare the beacon with its source yourself. docs/guards.md says what a draw proves.`

const (
	drawTimeout = 30 * time.Second // one page
	maxPage     = 1 << 20          // bytes
	shownWrong  = 100              // lines
)

// drawAnswer is an answer of GET /voucher/:id/draw.
type drawAnswer struct {
	Data *draw.List `json:"data"`
	Next string     `json:"next"`
}

// checkDraw runs the command draw.
func checkDraw(ctx context.Context, env cmdline.Env, _ feature.Tools) error {
	if len(env.Args) == 0 || env.Args[0] != "verify" {
		set := flag.NewFlagSet("draw", flag.ContinueOnError)
		if err := cmdline.Parse(env, set, drawHelp); err != nil {
			return err
		}
		return cmdline.Misuse(set, "want verify")
	}
	env.Args = env.Args[1:]
	set := flag.NewFlagSet("draw verify", flag.ContinueOnError)
	entry := set.String("entry", "", "the entry whose line is looked up")
	earlier := set.String("before", "", "a file with an earlier answer of the URL")
	if err := cmdline.ParseFlags(env, set, drawHelp); err != nil {
		return err
	}
	if set.NArg() != 1 {
		return cmdline.Misuse(set, "want the address of a draw, behind the flags")
	}
	before, err := readBefore(*earlier)
	if err != nil {
		return err
	}
	l, err := fetchDraw(ctx, set.Arg(0))
	if err != nil {
		return err
	}
	return report(env.Out, l, before, *entry)
}

// readBefore reads an earlier answer from a file; nil without one.
func readBefore(file string) (*draw.List, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var answer drawAnswer
	if err := json.Unmarshal(text, &answer); err != nil || answer.Data == nil {
		return nil, fmt.Errorf("%s is not an answer of the route of draws: %w", file, err)
	}
	return answer.Data, nil
}

// fetchDraw reads all pages of a published draw.
func fetchDraw(ctx context.Context, address string) (*draw.List, error) {
	base, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	var whole *draw.List
	for after := ""; ; {
		query := url.Values{"limit": {strconv.Itoa(maxEntrants)}}
		if after != "" {
			query.Set("after", after)
		}
		base.RawQuery = query.Encode()
		page, next, err := fetchPage(ctx, base.String())
		switch {
		case err != nil:
			return nil, err
		case whole == nil:
			whole = page
		default:
			whole.Entrants = append(whole.Entrants, page.Entrants...)
		}
		if next == "" {
			return whole, nil
		}
		if next <= after {
			return nil, fmt.Errorf("the page behind %q says that it goes on behind %q", after, next)
		}
		after = next
	}
}

func fetchPage(ctx context.Context, address string) (page *draw.List, next string, err error) {
	ctx, cancel := context.WithTimeout(ctx, drawTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, "", err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxPage))
	if err != nil {
		return nil, "", err
	}
	var shown drawAnswer
	if err := json.Unmarshal(body, &shown); err != nil || answer.StatusCode != http.StatusOK || shown.Data == nil {
		return nil, "", fmt.Errorf("%s answers %s, and no draw", address, answer.Status)
	}
	return shown.Data, shown.Next, nil
}

// report checks a draw and prints what was checked. It returns cmdline.ErrFound if something is wrong.
func report(out io.Writer, l, before *draw.List, entry string) error {
	wrong := draw.Check(l, before)
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }
	say("draw %d of voucher %d: %s, %d entries, key hash %s", l.Number, l.VoucherID, l.Proof, len(l.Entrants),
		l.KeyHash)
	if l.Source != "" {
		say("beacon of %s, round %s: %s", l.Source, l.Round, l.Beacon)
	}
	for _, e := range l.Earlier {
		say("draw %d counted no more from %v on: %s", e.Number, e.VoidTime, e.VoidReason)
	}
	if entry != "" {
		line, err := draw.Own(l, entry)
		if err != nil {
			wrong = append(wrong, draw.Wrong{What: err.Error()})
		} else {
			own := l.Entrants[line-1]
			say("your line is %d: %s", line, became(l, own))
		}
	}
	for i, w := range wrong {
		if i == shownWrong {
			say("and %d more", len(wrong)-i)
			break
		}
		say("WRONG: %v", w)
	}
	if len(wrong) > 0 {
		return cmdline.ErrFound
	}
	say("%s", compared(l, before))
	if !l.Decided() {
		say("nothing is wrong: nobody bought before the sale was over, and no moment had been decided")
		return nil
	}
	say("nothing is wrong: key, root, beacon and moments fit together, and nobody bought before their moment")
	return nil
}

// became says what became of an entry, and how many came before it.
func became(l *draw.List, own draw.Entrant) string {
	if !l.Decided() {
		return "outcome " + own.Outcome
	}
	sooner, bought := l.Sooner(own)
	return fmt.Sprintf("moment %v, outcome %s; %d of the %d entries had an earlier moment, and %d of those bought",
		own.MomentTime, own.Outcome, sooner, len(l.Entrants), bought)
}

// compared says what an earlier answer has shown, which depends on when it was saved.
func compared(l, before *draw.List) string {
	if before == nil {
		return "not compared with an answer from before (-before): key and list may have been others then"
	}
	const same = "nothing has changed since your answer was saved: "
	switch {
	case before.Root == "":
		return same + "its list was not closed then, so it is not compared"
	case l.Source == "" && before.State != draw.Over:
		return same + "the list was closed, and the sale not over"
	case before.Beacon == "" && before.State == draw.Closed:
		return same + "the list was closed, and no beacon entered"
	default:
		return same + "it was too late then to show anything of what was before the beacon"
	}
}
