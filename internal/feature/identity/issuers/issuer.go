package issuers

import (
	"net/netip"
	"slices"
)

// Algorithm is a signature algorithm of tokens.
type Algorithm string

// The algorithms that an issuer may use.
const (
	RS256 Algorithm = "RS256"
	ES256 Algorithm = "ES256"
	EdDSA Algorithm = "EdDSA"
)

// Kind is the kind of an issuer's tokens.
type Kind string

// The kinds. An issuer has one kind: an ID token identifies a user and permits nothing; an access token does the
// opposite.
const (
	IDToken     Kind = "id"
	AccessToken Kind = "access" // RFC 9068
)

// Issuer is an identity provider as the file of issuers describes it.
type Issuer struct {
	Name       string         // its iss, exactly
	JWKS       string         // the address of its keys; "" if File has them
	File       string         // the file that has its keys, or ""
	Networks   []netip.Prefix // where JWKS may be besides the public Internet, also without TLS
	Audience   string
	AudienceIn string // the claim that has the audience: aud, client_id or azp
	Kind       Kind
	Algorithms []Algorithm
	Claims     Claims
	// Numeric lets its buyers keep the numbers that they have at the provider, instead of getting accounts. At most one
	// issuer is numeric.
	Numeric bool
	Staff   Staff
	Pages   Pages
}

// Claims are the names of the claims to read; "": none.
type Claims struct {
	User         string // a text that identifies the user at each sign-in; for a numeric issuer, their number
	Level, Since string // whole numbers, for the conditions of a sale
}

func (i Issuer) uses(a Algorithm) bool { return slices.Contains(i.Algorithms, a) }
