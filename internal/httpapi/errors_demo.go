package httpapi

import (
	"errors"
	"net/http"

	"seckill/internal/httpapi/httpkit"
)

// The refusals of the embedded mode's tokens for trying out, which the error table names.
var (
	// errManyDemoBuyers: demo buyers are made more often than people try the service out.
	errManyDemoBuyers = errors.New("too many demo buyers")
	// errUsedLink: the sign-in link was used, or is of an earlier start.
	errUsedLink = errors.New("no such sign-in code")
	// errNotLocal: the sign-in link is used on another machine.
	errNotLocal = errors.New("the caller is not on this machine")
	// errForeignPage: a page of another site asks, or one that reached this machine by another name.
	errForeignPage = errors.New("a page of another site asks")
)

// manyDemoBuyers is the 429 for asking for too many demo buyers.
func manyDemoBuyers() httpkit.Failure {
	return httpkit.Failure{
		Code: httpkit.CodeRateLimited, Status: http.StatusTooManyRequests, RetryAfter: "1",
		Title: "Too many demo buyers",
		Detail: "Demo buyers are made once a second at most, for all callers together. Repeat the request " +
			"after the Retry-After.",
		English: "Too many people are trying this out right now. Please wait a moment.", Chinese: "当前试用人数较多，请稍后再试",
	}
}

// usedLink is the refusal of a sign-in link that is no longer valid.
func usedLink() httpkit.Failure {
	return httpkit.Failure{
		Code: "UNAUTHENTICATED", Status: http.StatusUnauthorized, Title: "Not signed in",
		Challenge: "Bearer",
		Detail: "The sign-in link works once, and only until the service stops. Use the admin's token that was " +
			"printed with it, or server token -user 1 -role admin.",
		English: "This sign-in link was used already, or belongs to an earlier start.", Chinese: "该登录链接已被使用，或属于之前的启动",
	}
}

// notLocal is the refusal of a sign-in link that is used on another machine.
func notLocal() httpkit.Failure {
	return httpkit.Failure{
		Code: "FORBIDDEN", Status: http.StatusForbidden, Title: "Forbidden",
		Detail:  "The sign-in link works only on the machine on which the service runs, and not through a proxy.",
		English: "This sign-in link works only on the machine on which the service runs.",
		Chinese: "该登录链接只能在运行服务的机器上使用",
	}
}

// foreignPage is the 403 for pages of other sites.
func foreignPage() httpkit.Failure {
	return httpkit.Failure{
		Code: "FORBIDDEN", Status: http.StatusForbidden, Title: "Forbidden",
		Detail: "Demo buyers are made for pages of this service alone, which has no name of its own: it answers by " +
			"an IP address, as localhost, and by the names in SECKILL_OPS_HOSTS.",
		English: "Please open the page of the service itself.", Chinese: "请直接打开本服务的页面",
	}
}
