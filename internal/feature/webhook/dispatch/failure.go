package dispatch

import (
	"maps"
	"strings"
	"unicode"

	"seckill/internal/kit/words"
)

// FailureCode is the reason why an event was not taken, or why an endpoint is disabled. It is stored, and programs read
// it, so an existing code keeps its meaning.
type FailureCode string

// Reasons why an endpoint does not take an event.
const (
	AddressNotAllowed   FailureCode = "ADDRESS_NOT_ALLOWED"
	Canceled            FailureCode = "CANCELED"
	ConnectionClosed    FailureCode = "CONNECTION_CLOSED"
	ConnectionRefused   FailureCode = "CONNECTION_REFUSED"
	DNS                 FailureCode = "DNS"
	DNSFailed           FailureCode = "DNS_FAILED"
	Gone                FailureCode = "GONE"
	NeedsTLS            FailureCode = "NEEDS_TLS"
	NoTLS               FailureCode = "NO_TLS"
	NotHTTP             FailureCode = "NOT_HTTP"
	Other               FailureCode = "OTHER"
	Redirect            FailureCode = "REDIRECT"
	Status              FailureCode = "STATUS"
	Timeout             FailureCode = "TIMEOUT"
	TLSCertificate      FailureCode = "TLS_CERTIFICATE"
	TLSExpired          FailureCode = "TLS_EXPIRED"
	TLSHandshake        FailureCode = "TLS_HANDSHAKE"
	TLSHost             FailureCode = "TLS_HOST"
	TLSUnknownAuthority FailureCode = "TLS_UNKNOWN_AUTHORITY"
	Unreachable         FailureCode = "UNREACHABLE"
)

// Reasons why an endpoint is disabled, besides Gone.
const (
	ByAdmin    FailureCode = "BY_ADMIN"
	FailedLong FailureCode = "FAILED_LONG"
)

// failures has the words of each code.
var failures = map[FailureCode]words.Text{
	AddressNotAllowed: {
		"{address} is not on the public Internet, nor in SECKILL_WEBHOOK_ALLOW",
		"{address} 不是公网地址，也未列入 SECKILL_WEBHOOK_ALLOW",
	},
	Canceled:          {"sending was cut off", "推送中断"},
	ConnectionClosed:  {"the receiver closed the connection without an answer", "接收方未应答即断开连接"},
	ConnectionRefused: {"{address} refused the connection", "{address} 拒绝连接"},
	DNS:               {"there is no host {host}", "找不到域名 {host}"},
	DNSFailed:         {"the host {host} could not be looked up: {detail}", "无法解析域名 {host}（{detail}）"},
	Gone:              {"answered 410: the address is not used any more", "接收方返回 410，表示该地址不再使用"},
	NeedsTLS: {
		"{address} is not in SECKILL_WEBHOOK_ALLOW, so it needs https", "{address} 未列入 SECKILL_WEBHOOK_ALLOW，须使用 https",
	},
	NoTLS:               {"the receiver does not speak TLS", "接收方不支持 HTTPS"},
	NotHTTP:             {"the answer is not HTTP", "接收方的应答不是 HTTP"},
	Other:               {"{detail}", "{detail}"},
	Redirect:            {"answered {status}: redirects are not followed", "接收方返回 {status}，重定向不会跟随"},
	Status:              {"answered {status}", "接收方返回 {status}"},
	Timeout:             {"no answer in time", "超时未应答"},
	TLSCertificate:      {"the TLS certificate is not valid: {detail}", "TLS 证书无效（{detail}）"},
	TLSExpired:          {"the TLS certificate has expired or is not valid yet", "TLS 证书已过期或尚未生效"},
	TLSHandshake:        {"the TLS handshake failed: {detail}", "TLS 握手失败（{detail}）"},
	TLSHost:             {"the TLS certificate is not for {host}", "TLS 证书与 {host} 不符"},
	TLSUnknownAuthority: {"the TLS certificate is signed by an unknown authority", "TLS 证书的签发机构不受信任"},
	Unreachable:         {"{address} cannot be reached", "无法到达 {address}"},

	ByAdmin:    {"by an admin", "由管理员停用"},
	FailedLong: {"it has failed for five days", "已连续失败五天"},
}

// FailureCodes returns all codes with their words.
func FailureCodes() map[FailureCode]words.Text { return maps.Clone(failures) }

// In returns the words of a code in a language. It is for codes whose words have no placeholders.
func (c FailureCode) In(l words.Language) string { return failures[c].In(l, nil) }

// Failure is the reason why an endpoint did not take an event. The zero value is no failure.
type Failure struct {
	Code    FailureCode `json:"code,omitempty"`
	Status  int         `json:"status,omitempty"`  // the answer's
	Host    string      `json:"host,omitempty"`    // the host that was looked up, or that the certificate is not for
	Address string      `json:"address,omitempty"` // the address that was dialled
	Detail  string      `json:"detail,omitempty"`  // the text of a library's error, in English
}

// In returns the failure in words of a language; "" for no failure.
func (f Failure) In(l words.Language) string {
	return failures[f.Code].In(l,
		words.Data{"status": f.Status, "host": f.Host, "address": f.Address, "detail": f.Detail})
}

// maxDetail is how many characters of a failure's detail are kept.
const maxDetail = 200

// Clip shortens the detail and removes control characters: parts of it come from the endpoint.
func (f Failure) Clip() Failure {
	detail := []rune(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, f.Detail))
	if len(detail) > maxDetail {
		detail = append(detail[:maxDetail], '…')
	}
	f.Detail = string(detail)
	return f
}
