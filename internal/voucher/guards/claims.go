package guards

import "time"

// Claims are the claims of a token about the account.
type Claims struct {
	Level int64     // 0: the token does not say
	Since time.Time // when the account was made; zero: the token does not say
}
