package authtoken

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"seckill/internal/voucher"
)

const (
	// lastSecond is the end of the year 9999 in seconds since 1970: the last time that RFC 3339 can write.
	lastSecond = 253402300799
	// ClockLead is how far the clock of somebody who signs tokens may be ahead of this service's.
	ClockLead = time.Minute
)

// Reasons why claims make a token invalid.
var (
	errNoExpiry    = errors.New("the token has no exp")
	errExpired     = errors.New("the token has expired")
	errEarly       = errors.New("the token is not valid yet")
	errIssuer      = errors.New("the token has another issuer")
	errAudience    = errors.New("the token is for another audience")
	errAhead       = fmt.Errorf("the token's iat is more than %s ahead", ClockLead)
	errNoIssue     = errors.New("the token has no iat, which a bounded life requires")
	errLongLived   = errors.New("the token is valid for longer than its role allows")
	errOtherSecret = errors.New("the token's secret does not sign for its role")

	errAccount = errors.New("the token's subject is an account's, and the token is of no session")
	errSession = errors.New("the token is of a session, and its subject is no account's")
	errDirect  = errors.New("the token is a buyer's and of no session")

	errForgotten = errors.New("the token's subject is the pseudonym of somebody who was forgotten")
)

// claims are the claims that this service uses.
type claims struct {
	subject, issuer, role text
	via                   text
	forAudience           bool // aud contains the wanted audience
	shop, voucher         int64
	level, since          int64
	expires, notBefore    seconds
	issued                seconds
}

// seconds is a time in seconds since 1970. An absent time differs from 0.
type seconds struct {
	at    int64
	given bool
}

// readHeader checks a token's header.
func readHeader(b []byte) error {
	var (
		algorithm text
		critical  bool
		err       error
	)
	ok := members(b, func(name text, v value) bool {
		switch string(name) {
		case "alg":
			if algorithm, err = v.text(); err != nil {
				err = errAlgorithm
			}
		case "crit":
			critical = true // no extension is supported, and an empty list is malformed (RFC 7515, section 4.1.11)
		}
		return err == nil
	})
	switch {
	case err != nil:
		return err
	case !ok:
		return errHeader
	case string(algorithm) != "HS256":
		return errAlgorithm
	case critical:
		return errCritical
	}
	return nil
}

// readClaims reads a token's claims. The result points into b.
func readClaims(b []byte, audience string) (claims, error) {
	var (
		c   claims
		err error
	)
	ok := members(b, func(name text, v value) bool {
		switch string(name) {
		case "sub":
			c.subject, err = v.text()
		case "iss":
			c.issuer, err = v.text()
		case "role":
			c.role, err = v.text()
		case "via":
			c.via, err = v.text()
		case "shop":
			c.shop = v.whole(voucher.MaxID)
		case "voucher":
			c.voucher = v.whole(voucher.MaxID)
		case "level":
			c.level = v.whole(voucher.MaxID)
		case "since":
			c.since = v.whole(lastSecond)
		case "jti":
			_, err = v.text()
		case "aud":
			c.forAudience, err = v.hasText(audience)
		case "exp":
			c.expires, err = v.seconds()
		case "nbf":
			c.notBefore, err = v.seconds()
		case "iat":
			c.issued, err = v.seconds()
		}
		if err != nil {
			err = fmt.Errorf("the token's %s %w", name, err)
		}
		return err == nil
	})
	if !ok && err == nil {
		err = errClaims
	}
	return c, err
}

// check returns the identity in the claims if they are valid now.
func (c *claims) check(r *Rules, now time.Time) (Identity, error) {
	id, err := userID(c.subject)
	if err != nil {
		return Identity{}, err
	}
	who := Identity{
		UserID: id, Role: roleOf(c.role), Expires: time.Unix(c.expires.at, 0), Session: string(c.via) == viaSession,
	}
	if who.Level = c.level; c.since > 0 {
		who.Since = time.Unix(c.since, 0)
	}
	switch who.Role {
	case RoleTill, RoleMerchant:
		who.Shop = c.shop
	case RoleCrowd:
		who.Crowd = c.voucher
	}
	switch {
	case !c.expires.given:
		return Identity{}, errNoExpiry
	case !now.Before(who.Expires):
		return Identity{}, errExpired
	case c.notBefore.given && now.Before(time.Unix(c.notBefore.at, 0)):
		return Identity{}, errEarly
	case r.Issuer != "" && string(c.issuer) != r.Issuer:
		return Identity{}, errIssuer
	case r.Audience != "" && !c.forAudience:
		return Identity{}, errAudience
	}
	if c.issued.given {
		who.Issued = time.Unix(c.issued.at, 0)
	}
	if who.Issued.After(now.Add(ClockLead)) { // a sign-out could not cover it
		return Identity{}, errAhead
	}
	if err := checkSource(r, id, who.Role, who.Session); err != nil {
		return Identity{}, err
	}
	if err := c.checkLife(r.Life(who.Role), now); err != nil {
		return Identity{}, err
	}
	return who, nil
}

// checkSource checks that a user's id may come from this source: a session, or a direct signer of tokens.
func checkSource(r *Rules, id int64, role string, session bool) error {
	account, buyer := id >= voucher.FirstAccount && id <= voucher.LastAccount, role == RoleBuyer
	switch {
	case id >= voucher.FirstForgotten:
		return errForgotten
	case !r.Accounts:
		return nil
	case account && !session:
		return errAccount
	case session && !account && !isOwnNumber(r, id, role):
		return errSession
	case r.SessionsOnly && buyer && !session && id <= voucher.LastAccount:
		return errDirect
	}
	return nil
}

// isOwnNumber reports whether a session may have an id that is no account's: the number of a buyer at their provider.
func isOwnNumber(r *Rules, id int64, role string) bool {
	return r.SessionsOnly && role == RoleBuyer && id >= 1 && id < voucher.FirstAccount
}

// roleOf returns the role that a token claims: a buyer's, unless it is one of the others.
func roleOf(role text) string {
	switch string(role) {
	case RoleAdmin:
		return RoleAdmin
	case RoleMerchant:
		return RoleMerchant
	case RoleTill:
		return RoleTill
	case RoleCrowd:
		return RoleCrowd
	}
	return RoleBuyer
}

// checkLife checks that a token is valid for at most longest; 0 means no limit.
func (c *claims) checkLife(longest time.Duration, now time.Time) error {
	switch expires := time.Unix(c.expires.at, 0); {
	case longest == 0:
		return nil
	case !c.issued.given:
		return errNoIssue
	case expires.After(time.Unix(c.issued.at, 0).Add(longest)), expires.After(now.Add(longest + ClockLead)):
		return errLongLived
	}
	return nil
}

// userID reads an id as this service writes it: only digits, without a leading zero.
func userID(subject text) (int64, error) {
	const longest = 16 // the number of digits of voucher.MaxID
	if len(subject) > 0 && len(subject) <= longest && subject[0] != '0' {
		if id, ok := digits(subject); ok && id <= voucher.MaxID {
			return id, nil
		}
	}
	return 0, fmt.Errorf("the token's sub %.20q is not a user id", subject)
}

// digits reads a whole number of at most 18 digits.
func digits(b []byte) (n int64, ok bool) {
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// whole reads a whole number from 1 to most. For anything else it returns 0, because the claim may mean something else
// to other services.
func (v value) whole(most int64) int64 {
	if v.kind != number {
		return 0
	}
	n, ok := digits(v.raw)
	if !ok || n > most {
		return 0
	}
	return n
}

// seconds reads a time; null counts as absent.
func (v value) seconds() (seconds, error) {
	if v.kind == null {
		return seconds{}, nil
	}
	if v.kind == number {
		if n, ok := digits(v.raw); ok && n <= lastSecond {
			return seconds{n, true}, nil
		}
		if f, err := strconv.ParseFloat(string(v.raw), 64); err == nil && f >= 0 && f <= lastSecond {
			return seconds{int64(f), true}, nil
		}
	}
	return seconds{}, fmt.Errorf("is not a number from 0 to %d", int64(lastSecond))
}
