package main

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tokens provides a token for each buyer: read from a file, or signed with the service's secret.
type tokens struct {
	secret    []byte // of buyers' tokens
	admins    []byte // of admins' and crowds' tokens; secret, if the service has one for all
	claims    string // the claims that all tokens share, each with a leading comma
	life      time.Duration
	firstUser int64
	file      []string // nil: tokens are signed
	users     []int64  // users of the tokens in file
	adminFile string   // the given admin's token; "": it is signed
}

// minSecret is the least length of the service's secret in bytes.
const minSecret = 32

// tokenLife is how long a signed token is valid. Each request gets a new one, so that no token long outlives the load.
const tokenLife = 15 * time.Minute

func readTokens(getenv func(string) string, tokenFile, adminFile string, firstUser int64) (t tokens, err error) {
	t.secret, t.firstUser = []byte(getenv("SECKILL_JWT_SECRET")), firstUser
	if err = t.setClaims(getenv); err != nil {
		return t, err
	}
	t.admins = []byte(cmp.Or(getenv("SECKILL_JWT_ADMIN_SECRET"), string(t.secret)))
	for _, name := range []string{"SECKILL_JWT_SECRET", "SECKILL_JWT_ADMIN_SECRET"} {
		if n := len(getenv(name)); n > 0 && n < minSecret {
			return t, fmt.Errorf("%s has %d bytes; the service needs %d or more", name, n, minSecret)
		}
	}
	if tokenFile != "" {
		if err = t.readFile(tokenFile); err != nil {
			return t, fmt.Errorf("-tokens: %w", err)
		}
	} else if len(t.secret) == 0 {
		return t, errors.New("set SECKILL_JWT_SECRET to the service's secret (after make run: $(cat data/secret)), " +
			"or name a file with -tokens")
	}
	if adminFile != "" {
		text, err := os.ReadFile(adminFile)
		if err != nil {
			return t, fmt.Errorf("-admin-token: %w", err)
		}
		t.adminFile = strings.TrimSpace(string(text))
	}
	return t, nil
}

// setClaims prepares the claims of signed tokens according to the service's settings.
func (t *tokens) setClaims(getenv func(string) string) error {
	t.life = tokenLife
	for _, name := range []string{"SECKILL_JWT_MAX_LIFE", "SECKILL_JWT_ADMIN_MAX_LIFE"} {
		if longest, err := time.ParseDuration(cmp.Or(getenv(name), "0s")); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		} else if longest > 0 {
			t.life = min(t.life, longest)
		}
	}
	for name, setting := range map[string]string{"iss": "SECKILL_JWT_ISSUER", "aud": "SECKILL_JWT_AUDIENCE"} {
		if value := getenv(setting); value != "" {
			text, err := json.Marshal(value)
			if err != nil {
				return fmt.Errorf("%s: %w", setting, err)
			}
			t.claims += `,"` + name + `":` + string(text)
		}
	}
	return nil
}

// admin returns an admin's token, or "" if there is none.
func (t *tokens) admin() string {
	if t.adminFile != "" || len(t.admins) == 0 {
		return t.adminFile
	}
	return t.sign(t.admins, 1, `,"role":"admin"`)
}

// crowd returns a token that may only list the orders of a rehearsal and report on it, or "" if there is none.
func (t *tokens) crowd(rehearsal int64) string {
	if t.adminFile != "" || len(t.admins) == 0 {
		return t.adminFile
	}
	return t.sign(t.admins, rehearsalShop, `,"role":"crowd","voucher":`+strconv.FormatInt(rehearsal, 10))
}

// readFile reads buyers' tokens and their users. It does not check signatures; the service does.
func (t *tokens) readFile(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	for line := range strings.FieldsSeq(string(text)) {
		user, err := subject(line)
		if err != nil {
			return fmt.Errorf("%s, token %d: %w", name, len(t.file)+1, err)
		}
		t.file, t.users = append(t.file, line), append(t.users, user)
	}
	if len(t.file) == 0 {
		return fmt.Errorf("%s has no tokens", name)
	}
	return nil
}

// subject returns the user of a token.
func subject(token string) (int64, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return 0, errors.New("not a token (JWT)")
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return 0, err
	}
	var claims struct {
		Sub string `json:"sub"`
	}
	if err = json.Unmarshal(text, &claims); err != nil {
		return 0, err
	}
	return strconv.ParseInt(claims.Sub, 10, 64)
}

// check checks that there is an admin's token if the plan needs one, and lowers the number of buyers to the number of
// tokens.
func (t *tokens) check(p *plan) error {
	if p.voucher == 0 && t.admin() == "" {
		return errors.New("creating a voucher needs an admin: set SECKILL_JWT_SECRET (or SECKILL_JWT_ADMIN_SECRET, " +
			"where the service has it), or name a file with -admin-token, or a voucher with -voucher")
	}
	if t.file != nil {
		p.buyers = min(p.buyers, len(t.file))
	}
	return nil
}

// user returns the user id of the i-th buyer.
func (t *tokens) user(i int) int64 {
	if t.users != nil {
		return t.users[i]
	}
	return t.firstUser + int64(i)
}

// of returns the token of the i-th buyer.
func (t *tokens) of(i int) string {
	if t.file != nil {
		return t.file[i]
	}
	return t.sign(t.secret, t.firstUser+int64(i), "")
}

// sign makes a token (HS256).
func (t *tokens) sign(secret []byte, user int64, role string) string {
	now := time.Now().Unix()
	life := `,"iat":` + strconv.FormatInt(now, 10) + `,"exp":` + strconv.FormatInt(now+int64(t.life/time.Second), 10)
	const header = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9." // {"alg":"HS256","typ":"JWT"}
	token := header + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"`+strconv.FormatInt(user, 10)+
		`"`+role+life+t.claims+`}`))
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(token)) // never fails, by its documentation
	return token + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
