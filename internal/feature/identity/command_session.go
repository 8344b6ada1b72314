package identity

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"time"

	"seckill/internal/feature"
	"seckill/internal/feature/identity/issuers"
	"seckill/internal/kit/cmdline"
	"seckill/internal/voucher"
)

// help is the text of its --help before the flags.
const help = `server session revoke makes tokens void that were signed in before now: those of one user, or those of
all users of an identity provider. Running instances heed it within two seconds. Streams that are open go on until
they end. Whoever signs in again is let in again, so lock the account at the provider first.

  server session revoke -user 4503599627370497 -why TEXT
  server session revoke -issuer https://login.example/realms/shop -why TEXT

Of a numeric issuer, tokens of staff with such numbers that you have signed yourself are void as well.

It reads the settings of the instances, SECKILL_ISSUERS among them. Who did it, and why, is in the audit trail.`

// session runs the command session.
func session(ctx context.Context, env cmdline.Env, open feature.Tools) error {
	set := flag.NewFlagSet("session revoke", flag.ContinueOnError)
	user := set.Int64("user", 0, "the `id` of the user")
	issuer := set.String("issuer", "", "the `name` of the issuer, as in the file of issuers")
	trail := cmdline.TrailFlags(env, set)
	verb := ""
	if len(env.Args) > 0 && env.Args[0] == "revoke" {
		verb, env.Args = env.Args[0], env.Args[1:]
	}
	if err := cmdline.Parse(env, set, help); err != nil {
		return err
	}
	switch {
	case verb == "":
		return cmdline.Misuse(set, "say what to do (allowed: revoke)")
	case (*user == 0) == (*issuer == ""):
		return cmdline.Misuse(set, "give either -user or -issuer")
	case *user < 0 || *user > voucher.MaxID:
		return cmdline.Misuse(set, fmt.Sprintf("-user is %d (allowed: 1 to %d)", *user, voucher.MaxID))
	}
	if err := trail.Check(set); err != nil {
		return err
	}
	return open.Ledger(ctx, env, func(core feature.Core) error {
		list, err := readIssuers(core)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return errors.New("SECKILL_ISSUERS is not set: without it instances do not ask whose tokens are void")
		}
		whom := revoked{*user, *issuer, slices.ContainsFunc(list, func(i issuers.Issuer) bool {
			return i.Numeric && i.Name == *issuer
		})}
		users, err := revoke(ctx, NewLedger(core.DB), core.Ledger.Note, whom, trail)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(env.Out,
			"Tokens that were signed in until %s are void, on all instances within two seconds.\n",
			users.Before.UTC().Format(time.RFC3339))
		return err
	})
}

// revoked are the users whose tokens become void.
type revoked struct {
	user    int64
	issuer  string // all its users, instead of one
	numeric bool   // whether its users keep their numbers
}

// of returns the users' ids, as ranges.
func (r revoked) of(ctx context.Context, ledger *Ledger) (ranges [][2]int64, err error) {
	if r.issuer == "" {
		return [][2]int64{{r.user, r.user}}, nil
	}
	if r.numeric {
		ranges = append(ranges, [2]int64{1, voucher.FirstAccount - 1})
	}
	first, last, known, err := ledger.Issuer(ctx, r.issuer)
	switch {
	case err != nil:
		return nil, err
	case known:
		ranges = append(ranges, [2]int64{first, last})
	case !r.numeric:
		return nil, fmt.Errorf("nobody has signed in by the issuer %q yet: it is written as in the file of issuers",
			r.issuer)
	}
	return ranges, nil
}

// revoke makes tokens void. Before that, it writes to the audit trail.
func revoke(
	ctx context.Context, ledger *Ledger, note func(context.Context, voucher.Entry) error, whom revoked,
	trail cmdline.Trail,
) (users Users, err error) {
	ranges, err := whom.of(ctx, ledger)
	if err != nil {
		return Users{}, err
	}
	whose := voucher.FieldChange{Field: "user", To: strconv.FormatInt(whom.user, 10)}
	if whom.issuer != "" {
		whose = voucher.FieldChange{Field: "issuer", To: whom.issuer}
	}
	err = note(ctx, voucher.Entry{
		By: voucher.Author{Request: "server session"}, Action: voucher.Revoked,
		Changes: []voucher.FieldChange{whose, {Field: "by", To: trail.By()}, {Field: "why", To: trail.Why()}},
	})
	if err != nil {
		return Users{}, err
	}
	for _, r := range ranges {
		if users, err = ledger.Revoke(ctx, r[0], r[1]); err != nil {
			return Users{}, err
		}
	}
	return users, nil
}
