package dispatch

import (
	"time"

	"seckill/internal/kit/signature"
)

// Secret is the key that an endpoint's owner and the service share: whsec_ and base64, as in Standard Webhooks.
type Secret string

// NewSecret returns a random secret.
func NewSecret() Secret { return Secret(signature.NewSecret()) }

// LogValue keeps secrets out of logs.
func (Secret) LogValue() string { return "secret" }

// Sign returns the header webhook-signature of a message: a signature with each of the secrets, separated by spaces.
// Error: signature.ErrSecret.
func Sign(secrets []Secret, id string, at time.Time, body []byte) (string, error) {
	keys := make([][]byte, len(secrets))
	for i, s := range secrets {
		key, err := signature.Key(string(s))
		if err != nil {
			return "", err
		}
		keys[i] = key
	}
	return signature.Sign(keys, id, at, body), nil
}
