package dispatch

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"seckill/internal/kit/invalid"
	"seckill/internal/voucher"
)

// Limits of an endpoint.
const (
	MaxEndpoints   = 200  // of all shops together
	maxURL         = 2048 // bytes
	maxDescription = 200  // characters
	maxTypes       = 512  // bytes
	maxHostName    = 253  // bytes
	maxLabel       = 63   // bytes
)

// Errors of endpoints.
var (
	ErrNoEndpoint = errors.New("there is no such webhook endpoint")
	ErrEndpoints  = fmt.Errorf("there are %d webhook endpoints already", MaxEndpoints)
	ErrNoEvent    = errors.New("there is no such event for this endpoint, or it was deleted")
	ErrRotating   = errors.New("the secret was changed a moment ago, and the one before still signs")
)

// Endpoint is a URL to which events are sent, with its settings and the progress of its delivery.
type Endpoint struct {
	ID int64
	Terms

	Secret         Secret
	OldSecret      Secret // also signs until OldSecretUntil
	OldSecretUntil time.Time
	DisabledAt     time.Time // zero: it is enabled
	DisabledWhy    FailureCode
	CreatedAt      time.Time

	// The progress of its delivery. Next, ReplayNext and ReplayEnd are numbers of events.
	Next        int64 // the first event that was not looked at
	ReplayNext  int64 // from here to ReplayEnd, exclusive, events are sent again
	ReplayEnd   int64
	Health      Health
	SuccessAt   time.Time // the last success
	LastFailure Failure
}

// Terms are the settings of an endpoint that an admin chooses.
type Terms struct {
	ShopID      int64 // the shop whose events are sent; 0: all shops
	URL         string
	Description string
	Types       []Type // the types of events that are sent; nil: all
	Disabled    bool
}

// Check returns everything that is wrong with the terms, with the names of their JSON.
func (t Terms) Check() error {
	badTypes := checkTypes("types", t.Types)
	if n := len(JoinTypes(t.Types)); badTypes == nil && n > maxTypes { // all of them, almost
		badTypes = invalid.New("types", invalid.Bytes, invalid.Omit, invalid.Data{"length": n, "max": maxTypes})
	}
	problems := []*invalid.Problem{checkURL(t.URL), badTypes, checkDescription(t.Description)}
	if t.ShopID < 0 || t.ShopID > voucher.MaxID {
		problems = append(problems, invalid.New("shopId", invalid.OutOfRange, shopOrAll,
			invalid.Data{"value": t.ShopID}))
	}
	return invalid.Join(problems...)
}

// wrongURL returns a problem of an endpoint's URL.
func wrongURL(reason invalid.Reason, data invalid.Data) *invalid.Problem {
	return invalid.New("url", reason, endpointURL, data)
}

// checkURL returns a problem if the URL is malformed. It does not resolve the host, whose address is checked at each
// dial.
func checkURL(text string) *invalid.Problem {
	u, err := url.Parse(text)
	switch {
	case len(text) > maxURL:
		return wrongURL(invalid.Bytes, invalid.Data{"length": len(text), "max": maxURL})
	case text == "":
		return wrongURL(invalid.Missing, nil)
	case err != nil || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > unicode.MaxASCII }):
		return wrongURL(invalid.Malformed, invalid.Data{"value": invalid.Clip(text)})
	case u.Scheme != "" && u.Scheme != "https" && u.Scheme != "http":
		return wrongURL(badScheme, invalid.Data{"value": invalid.Clip(u.Scheme)})
	case u.Scheme == "", u.Hostname() == "", u.User != nil, u.Fragment != "":
		return wrongURL(invalid.Malformed, invalid.Data{"value": invalid.Clip(u.Redacted())})
	case !isHost(u.Hostname()):
		return wrongURL(badHostName, invalid.Data{"value": invalid.Clip(u.Hostname())})
	case !isPort(u.Port()):
		return wrongURL(badPort, invalid.Data{"value": invalid.Clip(u.Port())})
	}
	return nil
}

// isHost reports whether a text is an IP address, or may be a name in the DNS (RFC 1035, section 2.3.4; with
// underscores, which some names have). A text that ends in a number is no name: some resolvers take it for an address.
func isHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	last := labels[len(labels)-1]
	if len(host) > maxHostName || strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") ||
		last == "invalid" { // RFC 6761, section 6.4
		return false
	}
	return !slices.ContainsFunc(labels, func(label string) bool {
		return label == "" || len(label) > maxLabel || strings.ContainsFunc(label, func(r rune) bool {
			return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		})
	})
}

// isPort reports whether a text is a port, or "" for the scheme's port.
func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return text == "" || err == nil && n > 0
}

// checkReach returns a problem if a sender can never reach the endpoint's URL, which is well-formed.
func checkReach(text string, never func(*url.URL) Failure) error {
	u, err := url.Parse(text)
	if err != nil {
		return fmt.Errorf("the URL of an endpoint: %w", err)
	}
	switch f := never(u); f.Code {
	case NeedsTLS:
		return invalid.Join(wrongURL(unencrypted, invalid.Data{"value": f.Address}))
	case AddressNotAllowed:
		return invalid.Join(wrongURL(privateAddress, invalid.Data{"value": f.Address}))
	default:
		return nil
	}
}

// ParseTypes reads comma-separated names of types; it returns nil if there are none.
func ParseTypes(names string) (types []Type) {
	for name := range strings.SplitSeq(names, ",") {
		if name = strings.TrimSpace(name); name != "" {
			types = append(types, Type(name))
		}
	}
	return types
}

// JoinTypes is the reverse of ParseTypes.
func JoinTypes(types []Type) string { return strings.Join(namesOf(types), ",") }

func namesOf(types []Type) []string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = string(t)
	}
	return names
}

// allNamed returns nil, which stands for all types, if the types are all that there are, each once.
func allNamed(types []Type) []Type {
	if len(types) == len(Types()) && checkTypes("types", types) == nil {
		return nil
	}
	return types
}

// checkTypes returns a problem with a field that names a type that there is not, or one twice.
func checkTypes(field string, types []Type) *invalid.Problem {
	all := Types()
	for i, t := range types {
		if !slices.Contains(all, t) || slices.Contains(types[:i], t) {
			return invalid.New(field, invalid.Entry, eachOnce,
				invalid.Data{"value": invalid.Clip(string(t)), "values": namesOf(all)})
		}
	}
	return nil
}

func checkDescription(text string) *invalid.Problem {
	if n := utf8.RuneCountInString(text); n > maxDescription || !utf8.ValidString(text) ||
		strings.ContainsFunc(text, unicode.IsControl) {
		return invalid.OfText("description", n, 0, maxDescription)
	}
	return nil
}

// Secrets returns the secrets that sign at a time, the present one first.
func (e Endpoint) Secrets(now time.Time) []Secret {
	if e.OldSecret != "" && now.Before(e.OldSecretUntil) {
		return []Secret{e.Secret, e.OldSecret}
	}
	return []Secret{e.Secret}
}

// Wants reports whether the endpoint has subscribed to events of the type.
func (e Endpoint) Wants(t Type) bool { return len(e.Types) == 0 || slices.Contains(e.Types, t) }

// Replaying reports whether events are still to be sent again.
func (e Endpoint) Replaying() bool { return e.ReplayNext < e.ReplayEnd }
