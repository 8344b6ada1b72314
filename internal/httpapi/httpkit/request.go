package httpkit

import (
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/jsonbody"
	"seckill/internal/kit/idempotency"
	"seckill/internal/kit/invalid"
	"seckill/internal/voucher"
)

// Errors that several packages of the interface return.
var (
	// ErrTooLarge says that a body is larger than the service reads.
	ErrTooLarge = errors.New("request body is too large")
	// ErrForbidden says that the caller is neither an admin nor somebody else who may do this.
	ErrForbidden = errors.New("the admin role is required")
	// ErrNoRoute says that there is nothing at the path.
	ErrNoRoute = errors.New("no such route")
	// ErrOverloaded says that too many requests are in flight at this instance.
	ErrOverloaded = errors.New("too many requests in flight")
)

// SizeError replaces the error about a body beyond the limit by ErrTooLarge. A body that declares its length is refused
// earlier (declaresTooMuch).
func SizeError(err error) error {
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return ErrTooLarge
	}
	return err
}

// Bodies reads the bodies of requests.
type Bodies struct{ Limit int64 } // bytes

// Read reads the request's body, one flat JSON object, into the fields. It returns *invalid.Error with everything
// that is wrong, or ErrTooLarge.
func (b Bodies) Read(c *gin.Context, fields ...jsonbody.Field) error {
	return SizeError(jsonbody.Read(RawWriter(c), c.Request, b.Limit, fields...))
}

// maxWhy is how many characters a reason may have; the ledger's columns are wider.
const maxWhy = 200

// ReadWhy is Read with one more field, the reason that an admin gives for what they do.
func (b Bodies) ReadWhy(c *gin.Context, fields ...jsonbody.Field) (why string, err error) {
	if err := b.Read(c, append(fields, jsonbody.Required(jsonbody.Text("why", &why)))...); err != nil {
		return "", err
	}
	why = strings.TrimSpace(why)
	if n := utf8.RuneCountInString(why); n == 0 || n > maxWhy {
		return "", invalid.Join(invalid.OfText("why", n, 1, maxWhy))
	}
	return why, nil
}

// RawWriter returns the server's own writer under Gin's.
func RawWriter(c *gin.Context) http.ResponseWriter {
	if w, ok := c.Writer.(interface{ Unwrap() http.ResponseWriter }); ok {
		return w.Unwrap()
	}
	return c.Writer
}

// Author returns the author of a change: the caller, with their request.
func Author(c *gin.Context, who Identity) voucher.Author {
	return voucher.Author{
		AdminID: who.UserID, Shop: who.Only(), Request: c.Writer.Header().Get("X-Request-Id"), Key: KeyOf(c),
	}
}

// keyName is the name under which a request's context has its key.
const keyName = "seckill.idempotency-key"

// SetKey gives the request of a keyed route its key.
func SetKey(c *gin.Context, k idempotency.Key) { c.Set(keyName, k) }

// KeyOf returns the key of a request; only requests on keyed routes have one.
func KeyOf(c *gin.Context) idempotency.Key {
	given, _ := c.Get(keyName)
	k, _ := given.(idempotency.Key)
	return k
}

// JoinHeader returns the lines of a list header as one line that means the same (RFC 9110, section 5.3).
func JoinHeader(lines []string) string {
	if len(lines) == 1 {
		return lines[0]
	}
	return strings.Join(lines, ",")
}
