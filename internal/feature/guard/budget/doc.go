// Package budget limits how much of a sale callers take: requests in a time, by user, address and network, and units,
// by address and network. It is the memory of the guards "limits", "units" and "challenge" (package guard).
//
// Each budget is a cell of a table with a fixed number of cells. A budget fills again as time passes; the budgets of
// units take days. Nothing asks a store while a caller waits. Every second an Exchange publishes the spending here to
// the other instances, and takes the spending there from the budgets here.
//
//	an instance restarts     all its budgets are full
//	a flood of addresses     the budget that will be full soonest is forgotten first, so heavy callers stay known
//	Redis hangs              each instance lets a caller do as much as the setting says, by itself
//	an address is unreadable all such callers share one small budget
package budget
