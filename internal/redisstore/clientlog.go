package redisstore

import (
	"context"
	"fmt"
	"log/slog"
)

// ClientLog is a go-redis logger that writes to Log at debug level. The client reports every attempt to connect that
// failed, thousands a second while Redis is away, and on standard error unless redis.SetLogger says otherwise. That
// setting is the whole process's, so it is for package main to make. Nothing is lost at debug level: each such failure
// is also an error of the call that wanted the connection.
type ClientLog struct{ Log *slog.Logger }

// Printf logs one message.
func (l ClientLog) Printf(ctx context.Context, format string, v ...any) {
	if l.Log.Enabled(ctx, slog.LevelDebug) {
		l.Log.DebugContext(ctx, "redis client: "+fmt.Sprintf(format, v...))
	}
}
