package guards

import "time"

// Claims are what the token says of the account.
type Claims struct {
	Level int64     // 0: nothing
	Since time.Time // when the account was made; zero: the token does not say
}
