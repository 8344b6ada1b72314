// Package template keeps what vouchers were made of under a name, so that the next sale of a shop is not typed in
// again.
//
// The rows of tb_voucher_template are authoritative. A template is a copy: it knows nothing of the voucher from which
// it was saved, nor of those made from it, and both may change or end. One that cannot be read has only its name, by
// which it can be deleted.
package template
