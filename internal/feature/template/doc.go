// Package template keeps templates: copies of vouchers under a name, so that nobody needs to type in the next sale of a
// shop again.
//
// The rows of tb_voucher_template are authoritative. A template knows nothing of the voucher from which it was saved,
// nor of the vouchers made from it, and all of these may change or end. A template that cannot be read has only its
// name, by which it can be deleted.
package template
