package identity

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"time"

	"seckill/internal/feature"
	"seckill/internal/kit/cmdline"
	"seckill/internal/voucher"
)

// help is what its --help says, before the flags.
const help = `server session revoke makes tokens void that were signed in before now: those of one user, or those of
all users of an identity provider. Running instances heed it within two seconds. Streams that are open go on until
they end. Whoever signs in again is let in again, so lock the account at the provider first.

  server session revoke -user 4503599627370497 -why TEXT
  server session revoke -issuer https://login.example/realms/shop -why TEXT

It reads the settings of the instances, SECKILL_ISSUERS among them. Who did it, and why, is in the audit trail.`

// session runs the command.
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
		if core.Settings.Session.Issuers == "" {
			return errors.New("SECKILL_ISSUERS is not set: without it instances do not ask whose tokens are void")
		}
		users, err := revoke(ctx, NewLedger(core.DB), core.Ledger, *user, *issuer, trail)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(env.Out,
			"Tokens that were signed in until %s are void, on all instances within two seconds.\n",
			users.Before.UTC().Format(time.RFC3339))
		return err
	})
}

// auditor is the audit trail: feature.Ledger.
type auditor interface {
	Note(ctx context.Context, e voucher.Entry) error
}

// revoke makes the tokens of the user, or of the issuer's users, void. The audit trail has it before it is done.
func revoke(
	ctx context.Context, ledger *Ledger, audit auditor, user int64, issuer string, trail cmdline.Trail,
) (Users, error) {
	first, last := user, user
	whose := voucher.FieldChange{Field: "user", To: strconv.FormatInt(user, 10)}
	if issuer != "" {
		var (
			known bool
			err   error
		)
		if first, last, known, err = ledger.Issuer(ctx, issuer); err != nil {
			return Users{}, err
		}
		if !known {
			return Users{}, fmt.Errorf(
				"nobody has signed in by the issuer %q yet: it is written as in the file of issuers", issuer)
		}
		whose = voucher.FieldChange{Field: "issuer", To: issuer}
	}
	err := audit.Note(ctx, voucher.Entry{
		By: voucher.Author{Request: "server session"}, Action: voucher.Revoked,
		Changes: []voucher.FieldChange{whose, {Field: "by", To: trail.By()}, {Field: "why", To: trail.Why()}},
	})
	if err != nil {
		return Users{}, err
	}
	return ledger.Revoke(ctx, first, last)
}
