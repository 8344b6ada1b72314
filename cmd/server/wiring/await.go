package wiring

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"seckill/internal/sqlstore/sqlkit"
)

const (
	// storeWait is how long the start waits for stores that are starting too.
	storeWait = 30 * time.Second
	// sayAgain is how often the log repeats that a store cannot be used yet.
	sayAgain = time.Minute
)

// refused reports whether a store's answer makes waiting useless: wrong credentials, another database, another
// certificate. A store that is still starting gives no such answer.
func refused(err error) bool {
	const (
		noRight, wrongPassword, noDatabase = 1044, 1045, 1049
		noRightToTable, noRightToDo        = 1142, 1227
		socketOnly                         = 1698
	)
	if my, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return slices.Contains([]uint16{
			noRight, wrongPassword, noDatabase, noRightToTable, noRightToDo, socketOnly,
		}, my.Number)
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return untrusted || redis.IsAuthError(err) || redis.IsPermissionError(err) || errors.Is(err, mysql.ErrNoTLS) ||
		errors.Is(err, sqlkit.ErrDSN)
}

// await repeats open until it succeeds or the store refuses, for storeWait or endlessly: a store that starts at the
// same time is not an error.
func await(ctx context.Context, endless bool, log *slog.Logger, what string, open func() error) error {
	longest := storeWait
	if endless {
		longest = 0
	}
	said, saidAt := "", time.Time{}
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 100*time.Millisecond, 2*time.Second
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := open()
		if refused(err) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(longest),
		backoff.WithNotify(func(err error, _ time.Duration) {
			if text := err.Error(); text != said || time.Since(saidAt) >= sayAgain {
				said, saidAt = text, time.Now()
				log.WarnContext(ctx, what+" cannot be used yet; retrying", "error", err)
			}
		}))
	if err != nil {
		return fmt.Errorf("%s cannot be used: %w", what, err)
	}
	return nil
}
