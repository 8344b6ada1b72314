package identity

import (
	"context"
	"fmt"

	"seckill/internal/feature"
	"seckill/internal/feature/identity/issuers"
	"seckill/internal/kit/pages"
	"seckill/internal/sqlstore/sqlkit"
)

// New returns the feature.
func New() feature.Feature {
	return feature.Feature{
		Name: "identity", Rules: Rules(), Open: open,
		Commands: []feature.Command{
			{Name: "session", Summary: "make the tokens of a user or an issuer void (revoke)", Run: session},
		},
	}
}

// open reads the file of issuers. Without one nobody can sign in, but the accounts of earlier sign-ins are still known.
func open(core feature.Core) (feature.Parts, error) {
	ledger := NewLedger(core.DB)
	members := feature.Members{"account": {Users: ledger.Accounts}}
	hooks := []sqlkit.Hook{{Restored: ledger.RevokeAll}}
	list, err := readIssuers(core)
	if err != nil || len(list) == 0 {
		return feature.Parts{Members: members, Hooks: hooks}, err
	}
	var (
		void     = &Void{}
		now      = core.Front.Now
		verifier = issuers.NewVerifier(list, issuers.SourceOf, now, core.Log)
		sessions = NewSessions(verifier, ledger.Account, void, core.Tokens, core.Settings.Session.Life, now, core.Log)
		metrics  = newMetrics(verifier, void)
	)
	return feature.Parts{
		Routes: Routes(Service{
			Exchange: sessions.Exchange, Observe: metrics.observe,
			Address: core.Front.Address, Take: NewBudget(core.Settings.Session.Rate, now).Take,
			End: func(ctx context.Context, userID int64) error {
				users, err := ledger.Revoke(ctx, userID, userID)
				if err == nil {
					void.Tell(users) // void here at once, on other instances within a second
				}
				return err
			},
		}, core.Front.Bodies),
		Jobs:    []func(context.Context) error{NewVoidLoader(void, ledger, now, core.Log).Run, verifier.Run},
		Metrics: metrics.collectors(), Members: members, Hooks: hooks,
		Void: void.Covers, Providers: providers(list),
	}, nil
}

// providers returns the issuers that pages offer for signing in.
func providers(list []issuers.Issuer) (all []pages.Provider) {
	for _, i := range list {
		if i.Pages == (issuers.Pages{}) {
			continue
		}
		all = append(all, pages.Provider{
			Issuer: i.Name, Label: i.Pages.Label, Authorize: i.Pages.Authorize, Token: i.Pages.Token,
			Client: i.Pages.Client, Scope: i.Pages.Scope, Access: i.Kind == issuers.AccessToken,
		})
	}
	return all
}

// readIssuers reads the file of issuers, and checks that it fits the other settings. Without a file it returns none.
func readIssuers(core feature.Core) ([]issuers.Issuer, error) {
	cfg := core.Settings
	if cfg.Session.Issuers == "" {
		return nil, nil
	}
	list, err := issuers.Read(cfg.Session.Issuers)
	if err == nil {
		err = checkSettings(list, cfg.JWT.AdminSecret != "", cfg.JWT.Direct)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", feature.ErrSettings, err)
	}
	return list, nil
}

// checkSettings refuses issuers that name staff unless the tokens of staff have a secret of their own: with one secret
// for all roles, the signer of buyers' tokens could sign an admin's. It also refuses a numeric issuer if buyers can get
// their numbers elsewhere.
func checkSettings(list []issuers.Issuer, ownSecret, direct bool) error {
	for _, i := range list {
		if i.Staff.Names() && !ownSecret {
			return fmt.Errorf("issuer %q: staff needs SECKILL_JWT_ADMIN_SECRET, which is not set (allowed: set it, or "+
				"leave staff out)", i.Name)
		}
		if i.Numeric && direct {
			return fmt.Errorf("issuer %q: numeric needs SECKILL_JWT_DIRECT=false, as tokens that somebody else has "+
				"signed could give the same numbers to other people (allowed: set it, or leave numeric out)", i.Name)
		}
	}
	return nil
}
