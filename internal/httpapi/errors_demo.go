package httpapi

import (
	"errors"
	"net/http"
)

// The refusals of the embedded mode's tokens for trying out, which the error table names.
var (
	// errManyDemoBuyers: demo buyers are made more often than people try the service out.
	errManyDemoBuyers = errors.New("too many demo buyers")
	// errUsedLink: the sign-in link was used, or is of an earlier start.
	errUsedLink = errors.New("no such sign-in code")
	// errNotLocal: the sign-in link is used on another machine.
	errNotLocal = errors.New("the caller is not on this machine")
)

// manyDemoBuyers answers who asks for more demo buyers than people need.
func manyDemoBuyers() failure {
	return failure{
		code: codeRateLimited, status: http.StatusTooManyRequests, retryAfter: "1", title: "Too many demo buyers",
		detail:  "Demo buyers are made once a second at most, for all callers together. Repeat the request after the Retry-After.",
		english: "Too many people are trying this out right now. Please wait a moment.", chinese: "当前试用人数较多，请稍后再试",
	}
}

// usedLink answers who signs in by a link that is no longer good.
func usedLink() failure {
	return failure{
		code: "UNAUTHENTICATED", status: http.StatusUnauthorized, title: "Not signed in",
		challenge: "Bearer",
		detail:    "The sign-in link works once, and only until the service stops. Use the admin's token that was printed with it, or server token -user 1 -role admin.",
		english:   "This sign-in link was used already, or belongs to an earlier start.", chinese: "该登录链接已被使用，或属于之前的启动",
	}
}

// notLocal answers who signs in by the link from another machine.
func notLocal() failure {
	return failure{
		code: "FORBIDDEN", status: http.StatusForbidden, title: "Forbidden",
		detail:  "The sign-in link works only on the machine on which the service runs, and not through a proxy.",
		english: "This sign-in link works only on the machine on which the service runs.", chinese: "该登录链接只能在运行服务的机器上使用",
	}
}
