package main

import "seckill/lab/mutant"

// inArchiving are those that archive too early, or leave what is archived to be sold or seen.
func inArchiving() []mutant.Mutant {
	const (
		store, domain, api = "internal/sqlstore/", "internal/voucher/", "internal/httpapi/shop/"
		ledger, vouchers   = "./internal/sqlstore", "./internal/voucher"

		archive = domain + "archive.go"
		changes = store + "changes.go"
	)
	return []mutant.Mutant{
		packageMutant("a voucher is archived while its sale runs or comes", vouchers, "TestArchive$",
			"sale is not over", mutant.Change{
				File: archive, From: "if !before.Sale.Ended(now) {",
				To: "if before.Sale.Ended(now.AddDate(-99, 0, 0)) {",
			}),
		packageMutant("a voucher is archived whose sale was given another window", vouchers,
			"TestArchiveMeetsAnother$", "archived", mutant.Change{
				File: archive, From: "!v.Sale.End.Equal(before.Sale.End)", To: "v.Sale.End.Before(before.Sale.End)",
			}),
		packageMutant("a voucher is archived while an order is queued", vouchers, "TestArchive$", "want orders are not",
			mutant.Change{File: archive, From: "inRedis.Stock != after.Stock", To: "inRedis.Stock > after.Stock"}),
		packageMutant("a voucher is archived whose sale Redis has lost", vouchers, "TestArchive$",
			"want orders are not",
			mutant.Change{File: archive, From: "case inRedis.Missing, ", To: "case "}),
		packageMutant("a voucher is archived though a unit is taken meanwhile", vouchers, "TestArchiveMeetsAnother$",
			"want orders are not", mutant.Change{
				File: archive, From: "before.Stock == after.Stock &&", To: "before.Stock >= after.Stock &&",
			}),
		packageMutant("a lost sale passes for one that has ended", "./internal/redisstore",
			"TestOnEveryServer/redis/missing_sales", "missing should be", mutant.Change{
				File: "internal/redisstore/sales.go", From: "live.Missing = view.Mark.Epoch == 0 ||",
				To: "live.Missing = false &&",
			}),
		packageMutant("a voucher is archived while an order is unpaid", ledger, "TestArchiveWaitsForOrders$",
			"an unpaid order:", mutant.Change{
				File: changes, From: `status = ?", v.ID, order.Unpaid)`, To: `status = ?", v.ID, -1)`,
			}),
		packageMutant("an archived voucher is changed", vouchers, "TestArchivedIsNotChanged$", "error =",
			mutant.Change{
				File: domain + "change.go", From: "	if v.IsArchived() {",
				To: "	if v.IsArchived() && c.Guards != nil {",
			}),
		packageMutant("an archived voucher gets stock", ledger, "TestArchivedIsNotSold$", "stock:",
			mutant.Change{File: changes, From: "err == nil && v.IsArchived()", To: "err == nil && v.ID == 0"}),
		packageMutant("an archived voucher is bought", ledger, "TestArchivedIsNotSold$", "bought:",
			mutant.Change{
				File: store + "record.go", From: "case !v.Listed():\n\t\treturn v, voucher.ErrOffShelf",
				To: "case v.Status != voucher.OnShelf:\n\t\treturn v, voucher.ErrOffShelf",
			}),
		packageMutant("an archived voucher is listed", ledger, "TestArchivedIsNotListed$", "the public's list",
			mutant.Change{File: store + "vouchers.go", From: "v.archived IS NULL AND \" +", To: "\" +"}),
		packageMutant("the public sees an archived voucher by its id", "./internal/httpapi/shop", "TestArchive$",
			"for the public", mutant.Change{
				File: api + "listings.go", From: "v.Listed() &&", To: "v.Status == voucher.OnShelf &&",
			}),
	}
}
