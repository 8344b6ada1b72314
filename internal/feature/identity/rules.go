package identity

import (
	"net/http"

	"seckill/internal/feature/identity/issuers"
	"seckill/internal/httpapi/httpkit"
)

// Rules are the refusals of sign-ins.
func Rules() []httpkit.Rule {
	return []httpkit.Rule{
		{Matches: httpkit.Is(ErrSignedOut), Failure: httpkit.Failure{
			Code: "UNAUTHENTICATED", Status: http.StatusUnauthorized, Title: "Not signed in", RetryAfter: "60",
			Challenge: `Bearer error="invalid_token"`,
			Detail: "The user has signed out since the provider issued the token, or within the minute before: " +
				"clocks differ. A token that the provider issues after the Retry-After is taken.",
			English: "Please sign in again in a minute.", Chinese: "请在一分钟后重新登录",
		}},
		{Matches: httpkit.Is(issuers.ErrRefused), Failure: httpkit.Failure{
			Code: "UNAUTHENTICATED", Status: http.StatusUnauthorized, Title: "Not signed in",
			Challenge: `Bearer error="invalid_token"`,
			Detail:    "The provider's token is of no known issuer, malformed, expired, void, or not for this service.",
			English:   "Please sign in again.", Chinese: "登录已失效，请重新登录",
		}},
		{Matches: httpkit.Is(ErrNotOfConsole), Failure: httpkit.Failure{
			Code: "FORBIDDEN", Status: http.StatusForbidden, Title: "Forbidden",
			Detail: "The provider makes this user neither an admin nor a merchant of one shop. Its entry in the file " +
				"of issuers says by which claims it would.",
			English: "Your account is neither an admin's nor a merchant's.", Chinese: "您的账号不是管理员或商家账号",
		}},
		{Matches: httpkit.Is(ErrNotOfTill), Failure: httpkit.Failure{
			Code: "FORBIDDEN", Status: http.StatusForbidden, Title: "Forbidden",
			Detail: "The provider does not make this user a till of one shop. Its entry in the file of issuers says " +
				"by which claims it would.",
			English: "Your account is not a till's.", Chinese: "您的账号不是收银台账号",
		}},
		{Matches: httpkit.Is(ErrOften), Failure: httpkit.Failure{
			Code: "RATE_LIMITED", Status: http.StatusTooManyRequests, Title: "Too many requests", RetryAfter: "1",
			Detail:  "More sign-ins come from this address than an instance takes from one. Nothing was done.",
			English: "Too many sign-ins. Please wait a moment.", Chinese: "登录过于频繁，请稍候再试",
		}},
	}
}
