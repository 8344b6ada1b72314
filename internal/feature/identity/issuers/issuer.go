package issuers

import (
	"net/netip"
	"slices"
)

// Algorithm is how tokens are signed.
type Algorithm string

// The algorithms that an issuer may use.
const (
	RS256 Algorithm = "RS256"
	ES256 Algorithm = "ES256"
	EdDSA Algorithm = "EdDSA"
)

// Kind is what an issuer's tokens are.
type Kind string

// The kinds. An issuer has one kind: an ID token says who somebody is and permits nothing, an access token the
// opposite.
const (
	IDToken     Kind = "id"
	AccessToken Kind = "access" // RFC 9068
)

// Issuer is an identity provider as the file of issuers describes it.
type Issuer struct {
	Name       string         // its iss, exactly
	JWKS       string         // where its keys are; "" where File has them
	File       string         // the file that has its keys, or ""
	Networks   []netip.Prefix // to which JWKS may lead besides the public Internet, also without TLS
	Audience   string
	AudienceIn string // the claim that has the audience: aud, client_id or azp
	Kind       Kind
	Algorithms []Algorithm
	Claims     Claims
	// Numeric: its buyers keep the numbers that they have at the provider, instead of getting accounts. At most one
	// issuer is.
	Numeric bool
	Staff   Staff
	Pages   Pages
}

// Claims are the names of the claims that are read; "": none.
type Claims struct {
	User         string // a text that is the same each time the user signs in; for a numeric issuer, their number
	Level, Since string // whole numbers, for the conditions of a sale
}

func (i Issuer) uses(a Algorithm) bool { return slices.Contains(i.Algorithms, a) }
