package httpapi

import (
	"errors"
	"net/http"
	"slices"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/invalid"
	"seckill/internal/kit/words"
)

// codeInternal is the code of an error that no rule matches.
const codeInternal = "INTERNAL"

// The errors of this package itself.
var (
	errNoToken  = errors.New("no token")
	errBadToken = errors.New("token is not valid")
	errNotTill  = errors.New("the role till and a shop are required")
	errNotBuyer = errors.New("tills and crowds are no buyers")
	// errNotMerchant says that the caller is neither an admin nor a merchant of a shop.
	errNotMerchant = errors.New("the role admin, or the role merchant with a shop, is required")
	errMethod      = errors.New("method is not allowed here")
	// errRateLimited: this user asks too often.
	errRateLimited = errors.New("too many requests of this user")
)

// rules returns the table from errors to answers: the rules of the routes, and this package's own. The first rule that
// matches decides; those of a rush come first. make docs writes the codes in web/openapi.yaml from it.
func rules(ofRoutes []httpkit.Rule) []httpkit.Rule {
	var early, late []httpkit.Rule
	for _, r := range ofRoutes {
		if r.Early {
			early = append(early, r)
		} else {
			late = append(late, r)
		}
	}
	return slices.Concat(early, rushRules, late, ownRules)
}

// rushRules are this package's most frequent answers in a rush, thousands a second.
var rushRules = []httpkit.Rule{
	{Matches: httpkit.Is(httpkit.ErrOverloaded), Failure: httpkit.Failure{
		Code: httpkit.CodeUnavailable, Status: http.StatusServiceUnavailable, RetryAfter: "2",
		Title: "Temporarily unavailable",
		Detail: "As many requests are being worked on as this instance takes. Nothing was done, and repeating " +
			"the request is harmless.",
		English: "The service is busy. Please try again shortly.", Chinese: "系统繁忙，请稍后再试",
	}},
	{Matches: httpkit.Is(errRateLimited), Failure: httpkit.Failure{
		// After a second every bucket has a token: the lowest rate is one per second.
		Code: httpkit.CodeRateLimited, Status: http.StatusTooManyRequests, RetryAfter: "1", Title: "Too many requests",
		Detail: "This user asks more often than a user may. Nothing was done; requests after the " +
			"Retry-After are answered.",
		English: "You are asking too often. Please wait a moment.", Chinese: "操作过于频繁，请稍后再试",
	}},
}

// ownRules are this package's other refusals.
var ownRules = []httpkit.Rule{
	{Matches: httpkit.Is(errManyDemoBuyers), Failure: httpkit.Failure{
		Code: httpkit.CodeRateLimited, Status: http.StatusTooManyRequests, RetryAfter: "1",
		Title: "Too many demo buyers",
		Detail: "Demo buyers are made once a second at most, for all callers together. Repeat the request " +
			"after the Retry-After.",
		English: "Too many people are trying this out right now. Please wait a moment.", Chinese: "当前试用人数较多，请稍后再试",
	}},
	{Matches: httpkit.Is(httpkit.ErrUserStreams), Failure: httpkit.Failure{
		// After this time the service has closed streams whose caller has silently gone.
		Code: httpkit.CodeRateLimited, Status: http.StatusTooManyRequests, RetryAfter: "30",
		Title: "Too many event streams",
		Detail: "This user has as many event streams open as a user may. Close one first, or ask " +
			"GET /order/:id instead.",
		English: "You are following too many orders at once.", Chinese: "同时关注的订单过多，请稍后再试",
	}},
	{Matches: httpkit.As[*invalid.Error], Failure: httpkit.Failure{
		Code: "INVALID", Status: http.StatusBadRequest, Title: "Invalid request",
		Detail:  "The request breaks the rules that errors lists: which field, why, and what is allowed.",
		English: "The request is not valid.", Chinese: "请求参数有误",
		Members: invalidMembers,
	}},
	{Matches: httpkit.Is(errNoToken), Failure: httpkit.Failure{
		Code: "UNAUTHENTICATED", Status: http.StatusUnauthorized, Title: "Not signed in",
		Challenge: "Bearer",
		Detail:    "Send a token in the Authorization header, with or without the word Bearer before it.",
		English:   "Please sign in.", Chinese: "请先登录",
	}},
	{Matches: httpkit.Is(errBadToken), Failure: httpkit.Failure{
		Code: "UNAUTHENTICATED", Status: http.StatusUnauthorized, Title: "Not signed in",
		Challenge: `Bearer error="invalid_token"`,
		Detail:    "The token is malformed, expired, or not signed for this service.",
		English:   "Please sign in again.", Chinese: "登录已失效，请重新登录",
	}},
	{Matches: httpkit.Is(errUsedLink), Failure: httpkit.Failure{
		Code: "UNAUTHENTICATED", Status: http.StatusUnauthorized, Title: "Not signed in",
		Challenge: "Bearer",
		Detail: "The sign-in link works once, and only until the service stops. Use the admin's token that was " +
			"printed with it, or server token -user 1 -role admin.",
		English: "This sign-in link was used already, or belongs to an earlier start.", Chinese: "该登录链接已被使用，或属于之前的启动",
	}},
	{Matches: httpkit.Is(errNotLocal), Failure: httpkit.Failure{
		Code: "FORBIDDEN", Status: http.StatusForbidden, Title: "Forbidden",
		Detail:  "The sign-in link works only on the machine on which the service runs, and not through a proxy.",
		English: "This sign-in link works only on the machine on which the service runs.",
		Chinese: "该登录链接只能在运行服务的机器上使用",
	}},
	{Matches: httpkit.Is(errForeignPage), Failure: httpkit.Failure{
		Code: "FORBIDDEN", Status: http.StatusForbidden, Title: "Forbidden",
		Detail: "Demo buyers are made for pages of this service alone, which has no name of its own: it answers by " +
			"an IP address, as localhost, and by the names in SECKILL_OPS_HOSTS.",
		English: "Please open the page of the service itself.", Chinese: "请直接打开本服务的页面",
	}},
	{Matches: httpkit.Is(httpkit.ErrForbidden), Failure: httpkit.Failure{
		Code: "FORBIDDEN", Status: http.StatusForbidden, Title: "Forbidden",
		Detail:  "This route is for tokens with the role admin.",
		English: "You are not signed in as an admin.", Chinese: "您不是以管理员身份登录的",
	}},
	{Matches: httpkit.Is(errNotTill), Failure: httpkit.Failure{
		Code: "FORBIDDEN", Status: http.StatusForbidden, Title: "Forbidden",
		Detail:  "This route is for tokens with the role till and the shop that it stands in.",
		English: "You are not signed in as a till.", Chinese: "您不是以收银台身份登录的",
	}},
	{Matches: httpkit.Is(errNotMerchant), Failure: httpkit.Failure{
		Code: "FORBIDDEN", Status: http.StatusForbidden, Title: "Forbidden",
		Detail:  "This route is for tokens with the role admin, or merchant and its shop.",
		English: "You are signed in neither as an admin nor as a merchant.",
		Chinese: "您不是以管理员或商家身份登录的",
	}},
	{Matches: httpkit.Is(httpkit.ErrNoShop), Failure: httpkit.Failure{
		Code: "NOT_FOUND", Status: http.StatusNotFound, Title: "Not found",
		Detail:  "The token is a merchant's, and the request names another shop, or all.",
		English: "There is no such shop for you.", Chinese: "没有属于您的这家店铺",
	}},
	{Matches: httpkit.Is(errNotBuyer), Failure: httpkit.Failure{
		Code: "FORBIDDEN", Status: http.StatusForbidden, Title: "Forbidden",
		Detail:  "This route is for buyers and admins; tokens with the role till or crowd cannot use it.",
		English: "You are not signed in as a buyer.", Chinese: "您不是以买家身份登录的",
	}},
	{Matches: httpkit.Is(httpkit.ErrTooLarge), Failure: httpkit.Failure{
		Code: "TOO_LARGE", Status: http.StatusRequestEntityTooLarge, Title: "Request too large",
		Detail:  "The request body is larger than this service reads.",
		English: "The request is too large.", Chinese: "请求内容过大",
	}},
	{Matches: httpkit.Is(httpkit.ErrNoRoute), Failure: httpkit.Failure{
		Code: "NOT_FOUND", Status: http.StatusNotFound, Title: "Not found",
		Detail:  "There is nothing at this path.",
		English: "There is nothing here.", Chinese: "请求的地址不存在",
	}},
	{Matches: httpkit.Is(errMethod), Failure: httpkit.Failure{
		Code: "METHOD", Status: http.StatusMethodNotAllowed, Title: "Method not allowed",
		Detail:  "This path answers other methods; the Allow header lists them.",
		English: "This is not possible here.", Chinese: "不支持该请求方法",
	}},
}

// Failures returns every failure that an API whose routes have these rules may answer with. Documents list them.
func Failures(ofRoutes []httpkit.Rule) (all []httpkit.Failure) {
	for _, r := range rules(ofRoutes) {
		all = append(all, r.Failure)
	}
	return append(all, internalFailure())
}

// internalFailure is the answer to an error that no rule matches. It reveals nothing about the error.
func internalFailure() httpkit.Failure {
	return httpkit.Failure{
		Code: codeInternal, Status: http.StatusInternalServerError, Title: "Internal error",
		Detail:  "Something failed that should not. The log has it under the id in the X-Request-Id header.",
		English: "Something went wrong. Please try again later.", Chinese: "服务器内部错误，请稍后再试",
	}
}

// cancelledFailure is for callers who have hung up. Nobody reads it. Its status, 499, is customary, and keeps these
// requests from being counted and logged as failures.
func cancelledFailure() httpkit.Failure {
	return httpkit.Failure{
		Code: "CANCELLED", Status: 499, Title: "Request cancelled",
		Detail: "The request was cancelled before it was answered. A purchase may have taken place: repeating it is " +
			"the definitive question.",
		English: "The request was cancelled.", Chinese: "请求已取消",
	}
}

// invalidMembers adds everything that is wrong with the request.
func invalidMembers(body []byte, l words.Language, err error) []byte {
	e, _ := errors.AsType[*invalid.Error](err)
	said := make([]invalid.Said, len(e.Problems))
	for i, p := range e.Problems {
		said[i] = p.In(l)
	}
	body = append(body, `,"errors":`...)
	return httpkit.AppendJSON(body, said)
}
