package challenge

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"seckill/internal/feature/guard/budget"
	"seckill/internal/feature/guard/keys"
	"seckill/internal/voucher/guards"
)

// Errors of solutions and of requests for challenges.
var (
	// ErrUnsolved: there is no solution, or it solves no valid challenge of this user, sale and network.
	ErrUnsolved = errors.New("the challenge is not solved")
	// ErrTryAgain: this instance has not read the challenge's key yet. Ask again in a second.
	ErrTryAgain = errors.New("the challenge's key is not known yet")
	// ErrBusy: no puzzle became ready in time. Ask again shortly.
	ErrBusy = errors.New("too many challenges are asked for")
)

// The parameters of every challenge. A try takes half a mebibyte; a telephone makes about ninety a second.
const (
	algorithm   = "SCRYPT"
	cost        = 512 // scrypt's N
	blockSize   = 8   // scrypt's r; ALTCHA calls it memoryCost
	parallelism = 1   // scrypt's p
	keyLength   = 32
	prefixBytes = keyLength / 2
	randomBytes = 16

	// Life is how long a challenge can be solved.
	Life = 2 * time.Minute

	maxPayload = 2048 // characters; a payload has some 900
)

// Parameters are ALTCHA's, sorted by name as they are signed.
type Parameters struct {
	Algorithm    string `json:"algorithm"`
	Cost         int    `json:"cost"`
	Data         Data   `json:"data"`
	ExpiresAt    int64  `json:"expiresAt"` // seconds since 1970
	KeyLength    int    `json:"keyLength"`
	KeyPrefix    string `json:"keyPrefix"`
	KeySignature string `json:"keySignature"`
	MemoryCost   int    `json:"memoryCost"`
	Nonce        string `json:"nonce"`
	Parallelism  int    `json:"parallelism"`
	Salt         string `json:"salt"`
}

// Data binds a challenge to its caller.
type Data struct {
	Bound      string `json:"bound"`      // identifies the user and the network
	Difficulty int    `json:"difficulty"` // how many tries it takes at most, for a display of progress
	Key        uint16 `json:"key"`        // the id of the salt of the keys that signed the challenge
}

// Challenge is what a caller has to solve.
type Challenge struct {
	Parameters Parameters `json:"parameters"`
	Signature  string     `json:"signature"`
}

// Solution is the caller's answer to a challenge.
type Solution struct {
	Counter    uint32  `json:"counter"`
	DerivedKey string  `json:"derivedKey"`
	Time       float64 `json:"time,omitempty"` // milliseconds; not used
}

// Payload is a challenge with its solution; callers send it as the base64 of its JSON.
type Payload struct {
	Challenge Challenge `json:"challenge"`
	Solution  Solution  `json:"solution"`
}

// Caller is the buyer for whom a challenge is made.
type Caller struct {
	SaleID, UserID int64
	Address        netip.Addr // only its network counts: its /24, in IPv6 its /48
}

// Challenges makes challenges and checks solutions.
type Challenges struct {
	keys     *keys.Ring
	recent   *budget.Table
	pool     *pool
	unsolved *unsolved
}

// New returns challenges signed with keys of the ring; recent counts requests for them. Run makes the puzzles ahead of
// time, up to depth of each difficulty: PoolDepth.
func New(ring *keys.Ring, recent *budget.Table, depth int) *Challenges {
	return &Challenges{keys: ring, recent: recent, pool: newPool(depth), unsolved: newUnsolved()}
}

// Run makes puzzles until ctx ends.
func (c *Challenges) Run(ctx context.Context) error { return c.pool.run(ctx) }

const (
	accountFree     = 2  // how many challenges an account gets without raising the difficulty
	networkCrowd    = 64 // how many a network gets at one difficulty, as people behind one address
	networkPerCrowd = 8  // by how many tries each further crowd raises the difficulty
)

// Difficulty counts a request for a challenge, and returns how many tries it may take at most. The fewer recent
// requests of the account and the network, the easier. Beyond their limits it returns a *budget.RateError.
func (c *Challenges) Difficulty(who Caller, easiest, hardest int) (int, error) {
	user, network, err := c.recent.Asked(who.SaleID, who.UserID, who.Address)
	if err != nil {
		return 0, err
	}
	hardest = min(max(hardest, guards.MinDifficulty), guards.MaxDifficulty)
	easiest = min(max(easiest, guards.MinDifficulty), hardest)
	tries := easiest + easiest*int(max(0, user-accountFree)) + networkPerCrowd*int(network/networkCrowd)
	return min(tries, hardest), nil
}

// Again returns the challenge that the caller was given and has not solved, if enough time is left. Such a repetition
// takes no puzzle from others and is not counted.
func (c *Challenges) Again(who Caller, now time.Time) (Challenge, bool) {
	g, is := c.unsolved.find(who.SaleID, who.UserID, budget.Network(who.Address), now)
	if !is {
		return Challenge{}, false
	}
	made, err := c.write(who, &g)
	return made, err == nil // on an error its key is gone, and they get another
}

// Make returns a new challenge for the caller. Errors: ErrBusy, keys.ErrNotKnown.
func (c *Challenges) Make(ctx context.Context, who Caller, difficulty int, now time.Time) (Challenge, error) {
	_, saltID, err := c.keys.Current(keys.Challenge, who.SaleID)
	if err != nil {
		return Challenge{}, err
	}
	difficulty = min(max(difficulty, guards.MinDifficulty), guards.MaxDifficulty)
	of := budget.Network(who.Address)
	p, err := c.pool.take(ctx, of, difficulty)
	if err != nil {
		return Challenge{}, err
	}
	g := given{
		sale: who.SaleID, user: who.UserID, network: of, expires: now.Add(Life).Unix(), salt: saltID,
		difficulty: uint8(difficulty), puzzle: p,
	}
	made, err := c.write(who, &g)
	if err == nil {
		c.unsolved.put(g)
	}
	return made, err
}

// write returns the signed challenge. The same arguments give the same challenge. Errors: keys.ErrNotKnown,
// keys.ErrUnknownYet.
func (c *Challenges) write(who Caller, g *given) (Challenge, error) {
	signing, err := c.keys.Find(keys.Challenge, who.SaleID, g.salt)
	if err != nil {
		return Challenge{}, err
	}
	solving, err := c.keys.Find(keys.Solution, who.SaleID, g.salt)
	if err != nil {
		return Challenge{}, err
	}
	p := &g.puzzle
	made := Challenge{Parameters: Parameters{
		Algorithm: algorithm, Cost: cost, KeyLength: keyLength, MemoryCost: blockSize, Parallelism: parallelism,
		Data:      Data{Bound: bound(signing, who), Difficulty: int(g.difficulty), Key: g.salt},
		ExpiresAt: g.expires, KeyPrefix: hex.EncodeToString(p.key[:prefixBytes]),
		KeySignature: mac(solving, p.key[:]), Nonce: hex.EncodeToString(p.nonce[:]),
		Salt: hex.EncodeToString(p.salt[:]),
	}}
	made.Signature, err = sign(signing, made.Parameters)
	return made, err
}

// Check checks a caller's solution, the base64 of a payload's JSON. Errors: ErrUnsolved, ErrTryAgain.
func (c *Challenges) Check(text string, who Caller, now time.Time) error {
	p, err := ParsePayload(text)
	if err != nil {
		return err
	}
	params := p.Challenge.Parameters
	signing, err := c.find(keys.Challenge, who, params)
	if err != nil {
		return err
	}
	signature, err := sign(signing, params)
	if err != nil || !same(signature, p.Challenge.Signature) {
		return fmt.Errorf("%w: it is not signed by this service", ErrUnsolved)
	}
	switch {
	case now.Unix() >= params.ExpiresAt:
		return fmt.Errorf("%w: it has expired", ErrUnsolved)
	case !same(bound(signing, who), params.Data.Bound):
		return fmt.Errorf("%w: it was made for another user or network", ErrUnsolved)
	}
	solving, err := c.find(keys.Solution, who, params)
	if err != nil {
		return err
	}
	key, err := hex.DecodeString(p.Solution.DerivedKey)
	if err != nil || len(key) != keyLength {
		return fmt.Errorf("%w: derivedKey is not %d bytes in hexadecimal", ErrUnsolved, keyLength)
	}
	if !same(mac(solving, key), params.KeySignature) {
		return fmt.Errorf("%w: the answer is wrong", ErrUnsolved)
	}
	g := given{sale: who.SaleID, user: who.UserID, expires: params.ExpiresAt}
	if _, err := hex.Decode(g.puzzle.nonce[:], []byte(params.Nonce)); err == nil && c.unsolved.solve(g) {
		c.pool.solved(budget.Network(who.Address))
	}
	return nil
}

func (c *Challenges) find(purpose keys.Purpose, who Caller, p Parameters) (*keys.Key, error) {
	key, err := c.keys.Find(purpose, who.SaleID, p.Data.Key)
	switch {
	case errors.Is(err, keys.ErrUnknownYet):
		return nil, ErrTryAgain
	case err != nil:
		return nil, fmt.Errorf("%w: its key is not known", ErrUnsolved)
	}
	return key, nil
}

// ParsePayload reads the base64 of a payload's JSON. Its error wraps ErrUnsolved.
func ParsePayload(text string) (Payload, error) {
	var p Payload
	if text == "" {
		return p, ErrUnsolved
	}
	if len(text) > maxPayload {
		return p, fmt.Errorf("%w: longer than %d characters", ErrUnsolved, maxPayload)
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return p, fmt.Errorf("%w: not base64", ErrUnsolved)
	}
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil || decoder.InputOffset() != int64(len(raw)) {
		return Payload{}, fmt.Errorf("%w: not a payload of ALTCHA", ErrUnsolved)
	}
	return p, nil
}

// Encode returns the payload as callers send it.
func (p Payload) Encode() (string, error) {
	text, err := json.Marshal(p)
	return base64.StdEncoding.EncodeToString(text), err
}

// Solve tries one counter after the other, as callers' programs do, until it finds the solution or ctx ends. It is for
// tests and for clients in Go.
func Solve(ctx context.Context, c Challenge) (Payload, error) {
	nonce, errNonce := hex.DecodeString(c.Parameters.Nonce)
	salt, errSalt := hex.DecodeString(c.Parameters.Salt)
	if err := errors.Join(errNonce, errSalt); err != nil {
		return Payload{}, err
	}
	for counter := uint32(0); ctx.Err() == nil; counter++ {
		key := derive(nonce, salt, counter)
		if found := hex.EncodeToString(key[:]); strings.HasPrefix(found, c.Parameters.KeyPrefix) {
			return Payload{Challenge: c, Solution: Solution{Counter: counter, DerivedKey: found}}, nil
		}
	}
	return Payload{}, ctx.Err()
}

// bound identifies a user and a network without revealing either.
func bound(key *keys.Key, who Caller) string {
	of := budget.Network(who.Address)
	message := make([]byte, 0, 48)
	message = append(message, "bound"...)
	message = binary.BigEndian.AppendUint64(message, uint64(who.UserID))
	address := of.Addr().As16()
	message = append(message, address[:]...)
	message = append(message, byte(of.Bits()))
	sum := key.Sign(message)
	return hex.EncodeToString(sum[:16])
}

// sign signs parameters: their JSON, sorted by name.
func sign(key *keys.Key, p Parameters) (string, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("signing a challenge: %w", err)
	}
	return mac(key, text), nil
}

// mac signs as ALTCHA's libraries do: they take keys as text, so the key is its hexadecimal form.
func mac(key *keys.Key, message []byte) string {
	secret := key.Secret()
	h := hmac.New(sha256.New, []byte(hex.EncodeToString(secret[:])))
	_, _ = h.Write(message) // a hash never fails
	return hex.EncodeToString(h.Sum(nil))
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
