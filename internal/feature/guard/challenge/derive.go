package challenge

import (
	"encoding/binary"

	"golang.org/x/crypto/scrypt"
)

// derive returns the key that belongs to a counter. In ALTCHA, the password is the nonce followed by the counter in
// four bytes.
func derive(nonce, salt []byte, counter uint32) [keyLength]byte {
	password := make([]byte, 0, randomBytes+4)
	password = append(password, nonce...)
	password = binary.BigEndian.AppendUint32(password, counter)
	key, err := scrypt.Key(password, salt, cost, blockSize, parallelism, keyLength)
	if err != nil {
		panic(err) // only parameters that make no sense fail, and these are constants
	}
	return [keyLength]byte(key)
}
