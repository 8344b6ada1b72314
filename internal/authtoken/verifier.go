package authtoken

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"strings"
	"sync"
	"time"
)

const (
	// MinSecret is the least length of a signing secret in bytes: the width of the hash (RFC 7518, section 3.2).
	MinSecret = 32
	// MaxLength is the greatest length of a token in bytes. Real ones have about 200.
	MaxLength = 4096
	// RoleBuyer is every role but those below.
	RoleBuyer = ""
	// RoleAdmin is the role that may create and change vouchers and see every user's orders.
	RoleAdmin = "admin"
	// RoleMerchant is the role that may create and change the vouchers of the shop in the claim shop, and see their
	// orders.
	RoleMerchant = "merchant"
	// RoleTill is the role of a till, which redeems the coupons of the shop in the claim shop.
	RoleTill = "till"
	// viaSession is the value of the claim via in tokens that this service issues to users who signed in by an identity
	// provider.
	viaSession = "session"
	// RoleCrowd is the role of the crowd in a rehearsal: it may list the orders of the rehearsal named by the claim
	// voucher, and send the crowd's own report.
	RoleCrowd = "crowd"

	signatureLength = (sha256.Size*8 + 5) / 6 // in base64 without padding
)

// ErrWeakSecret means that the secret is too short to sign tokens.
var ErrWeakSecret = fmt.Errorf("authtoken: a secret must have at least %d bytes", MinSecret)

// Reasons why a token is not valid. They are only logged; callers do not get them.
var (
	errLength    = fmt.Errorf("token has more than %d bytes", MaxLength)
	errMalformed = errors.New("token is not three segments of base64url")
	errSignature = errors.New("token is not signed with a known secret")
	errHeader    = errors.New("the token's header is not a JSON object without duplicates")
	errAlgorithm = errors.New(`the token's alg is not "HS256"`)
	errCritical  = errors.New("the token has critical extensions")
	errClaims    = errors.New("the token's claims are not a JSON object without duplicates")
)

// Rules say which tokens are valid.
type Rules struct {
	// Secret is the key of the signature, at least MinSecret bytes. Tokens signed with Previous are valid too, unless
	// it is empty.
	Secret, Previous []byte
	// Admin is the key for tokens of every role but the buyer's. Tokens signed with AdminPrevious are valid too, unless
	// it is empty. If Admin is empty, Secret is the key for all roles.
	Admin, AdminPrevious []byte
	// Issuer and Audience are the required iss and aud. Empty means anything.
	Issuer, Audience string
	// MaxLife is the longest validity of a token, and AdminMaxLife that of an admin's or a merchant's; 0 means no
	// limit.
	MaxLife, AdminMaxLife time.Duration
	// Accounts: identity providers' users have ids from voucher.FirstAccount to voucher.LastAccount, and only tokens of
	// sessions may name these. Without it those ids are like any other.
	Accounts bool
	// SessionsOnly, which needs Accounts: buyers need a session's token, except for the made-up users of rehearsals. A
	// buyer's session may then also have an id below voucher.FirstAccount, because only the identity provider gives out
	// these numbers.
	SessionsOnly bool
}

// check returns an error for invalid rules.
func (r Rules) check() error {
	switch {
	case len(r.Secret) < MinSecret, isWeak(r.Previous), isWeak(r.Admin), isWeak(r.AdminPrevious):
		return ErrWeakSecret
	case len(r.AdminPrevious) > 0 && len(r.Admin) == 0:
		return errors.New("authtoken: AdminPrevious needs Admin")
	case r.sharesSecret():
		return errors.New("authtoken: buyers and admins share a secret")
	case r.SessionsOnly && !r.Accounts:
		return errors.New("authtoken: SessionsOnly needs Accounts")
	case r.MaxLife < 0 || r.AdminMaxLife < 0:
		return errors.New("authtoken: MaxLife and AdminMaxLife cannot be below 0")
	}
	return nil
}

// isWeak reports whether a secret is too short. An empty secret is not weak.
func isWeak(secret []byte) bool { return len(secret) > 0 && len(secret) < MinSecret }

// sharesSecret reports whether the same secret signs buyers' tokens and those of other roles.
func (r Rules) sharesSecret() bool {
	for _, theirs := range [][]byte{r.Admin, r.AdminPrevious} {
		if len(theirs) > 0 && (bytes.Equal(theirs, r.Secret) || bytes.Equal(theirs, r.Previous)) {
			return true
		}
	}
	return false
}

// Life returns the longest validity of a role's tokens; 0 means no limit.
func (r Rules) Life(role string) time.Duration {
	if role == RoleAdmin || role == RoleMerchant {
		return r.AdminMaxLife
	}
	return r.MaxLife
}

// secretOf returns the key that signs a role's tokens.
func (r Rules) secretOf(role string) []byte {
	if role != RoleBuyer && len(r.Admin) > 0 {
		return r.Admin
	}
	return r.Secret
}

// Identity is the caller that a token stands for.
type Identity struct {
	UserID  int64
	Role    string // RoleBuyer or another of the constants
	Shop    int64  // a till's or a merchant's shop; 0 for others, and for those without a shop
	Crowd   int64  // the voucher that the crowd rehearses; 0 for others
	Expires time.Time
	Issued  time.Time // when a session's user signed in; zero without the claim iat
	Session bool      // it is a session's token, which this service has signed for a provider's user
	Level   int64     // the account's level; 0 without the claim level
	Since   time.Time // when the account was created; zero without the claim since
}

// Verifier checks tokens. It is safe for concurrent use.
type Verifier struct {
	rules   Rules
	base64  *base64.Encoding
	scratch sync.Pool // of *scratch
}

// NewVerifier returns a verifier. The error may be ErrWeakSecret.
func NewVerifier(rules Rules) (*Verifier, error) {
	if err := rules.check(); err != nil {
		return nil, err
	}
	v := &Verifier{rules: rules, base64: base64.RawURLEncoding.Strict()}
	keys := rules.keys()
	v.scratch.New = func() any { return newScratch(keys) }
	return v, nil
}

// Verify returns the caller that a token stands for at the time now, or why the token is not valid.
func (v *Verifier) Verify(token string, now time.Time) (Identity, error) {
	header, claims, signature, err := split(token)
	if err != nil {
		return Identity{}, err
	}
	s, _ := v.scratch.Get().(*scratch)
	defer v.scratch.Put(s)
	whose := s.signer(token[:len(header)+1+len(claims)], signature)
	if whose == forNobody {
		return Identity{}, errSignature
	}
	if err := v.checkHeader(s, header); err != nil {
		return Identity{}, err
	}
	text, err := s.decode(v.base64, claims)
	if err != nil {
		return Identity{}, err
	}
	c, err := readClaims(text, v.rules.Audience)
	if err != nil {
		return Identity{}, err
	}
	if isBuyer := roleOf(c.role) == RoleBuyer; isBuyer && whose == forOthers || !isBuyer && whose == forBuyers {
		return Identity{}, errOtherSecret
	}
	return c.check(&v.rules, now)
}

// split splits a token into its segments. It refuses line ends, because package base64 would skip them.
func split(token string) (header, claims, signature string, err error) {
	if len(token) > MaxLength {
		return "", "", "", errLength
	}
	header, rest, _ := strings.Cut(token, ".")
	claims, signature, found := strings.Cut(rest, ".")
	if !found || len(signature) != signatureLength || strings.IndexByte(token, '\n') >= 0 ||
		strings.IndexByte(token, '\r') >= 0 {
		return "", "", "", errMalformed
	}
	return header, claims, signature, nil
}

// checkHeader checks a token's header. The headers that common libraries write are compared as text.
func (v *Verifier) checkHeader(s *scratch, header string) error {
	switch header {
	case "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", // {"alg":"HS256","typ":"JWT"}
		"eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9", // {"typ":"JWT","alg":"HS256"}
		"eyJhbGciOiJIUzI1NiJ9":                 // {"alg":"HS256"}
		return nil
	}
	text, err := s.decode(v.base64, header)
	if err != nil {
		return err
	}
	return readHeader(text)
}

// scratch holds the buffers of a check. They are reused, so that a check allocates nothing.
type scratch struct {
	macs  []mac // one for each key
	text  [MaxLength]byte
	plain [MaxLength]byte
	sum   [sha256.Size]byte
	right [signatureLength]byte
}

// mac computes signatures with a key.
type mac struct {
	hash.Hash

	whose roles
}

func newScratch(keys []key) *scratch {
	s := &scratch{macs: make([]mac, len(keys))}
	for i, k := range keys {
		s.macs[i] = mac{hmac.New(sha256.New, k.secret), k.whose}
	}
	return s
}

// signer returns the roles of the key that made this signature of the text; forNobody if no key did.
func (s *scratch) signer(text, signature string) roles {
	plain := s.text[:copy(s.text[:], text)]
	given := s.plain[:copy(s.plain[:], signature)]
	for _, mac := range s.macs {
		mac.Reset()
		mac.Write(plain) // never fails, by its documentation
		base64.RawURLEncoding.Encode(s.right[:], mac.Sum(s.sum[:0]))
		if subtle.ConstantTimeCompare(given, s.right[:]) == 1 {
			return mac.whose
		}
	}
	return forNobody
}

// decode decodes a segment. The result is valid until the next call.
func (s *scratch) decode(encoding *base64.Encoding, segment string) ([]byte, error) {
	n, err := encoding.Decode(s.plain[:], s.text[:copy(s.text[:], segment)])
	if err != nil {
		return nil, errMalformed
	}
	return s.plain[:n], nil
}
