package rediskit

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"seckill/internal/kit/bulkhead"
	"seckill/internal/order"
)

// refusals are the first words of replies that prove no effect: Redis did not run the command, or refused a script's
// first write (it refuses none after a successful one).
var refusals = [...]string{
	"OOM ", "LOADING ", "READONLY ", "MISCONF ", "NOREPLICAS ", "CLUSTERDOWN ", "MASTERDOWN ", "TRYAGAIN ", "MOVED ",
	"ASK ", "NOSCRIPT ", "BUSY ", "NOAUTH ", "WRONGPASS ", "ERR max number of clients",
}

// passing are the first words of replies about Redis's own state that may come after a script's first write, or that
// say that somebody ended the script.
var passing = [...]string{"NOPERM ", "ERR Script killed by user"}

// Translate translates an error of the client into the domain's: it wraps order.ErrUnavailable exactly when the command
// certainly had no effect. For any error after bytes may have been sent (a timeout, a closed connection), the outcome
// is unknown.
func Translate(err error) error {
	switch {
	case err == nil:
		return nil
	case HadNoEffect(err):
		return fmt.Errorf("redis: %w: %w", order.ErrUnavailable, err)
	default:
		return fmt.Errorf("redis: %w", err)
	}
}

// HadNoEffect reports whether the failed command certainly had no effect.
func HadNoEffect(err error) bool {
	if errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) ||
		errors.Is(err, redis.ErrClosed) {
		return true // there was no connection
	}
	if errors.Is(err, bulkhead.ErrFull) {
		return true // there was no permit for this class of callers
	}
	if errors.Is(err, order.ErrUnavailable) {
		return true // a hook of the client sent nothing: the partition has other data
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return true
	}
	var reply redis.Error
	if !errors.As(err, &reply) {
		return false
	}
	return beginsWith(reply, refusals[:])
}

// Words returns what Redis itself answered instead of a result; "" if it answered nothing.
func Words(err error) string {
	var reply redis.Error
	if !errors.As(err, &reply) || errors.Is(err, redis.Nil) {
		return ""
	}
	return "Redis: " + reply.Error()
}

// Rejects reports whether the reply refuses the request itself, so that a retry cannot help: it is an error of the
// script or of its data, not of Redis's own state.
func Rejects(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) && !errors.Is(err, redis.Nil) && !HadNoEffect(err) && !beginsWith(reply, passing[:])
}

// beginsWith reports whether the reply begins with one of the words.
func beginsWith(reply redis.Error, words []string) bool {
	text := reply.Error()
	return slices.ContainsFunc(words, func(word string) bool {
		// Redis 6 prefixes the reply to a script's command with words of its own and a dash.
		return strings.HasPrefix(text, word) || strings.Contains(text, ": -"+word)
	})
}
