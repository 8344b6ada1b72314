// Package rehearsal holds the forecasts of rehearsals against the sales that follow them.
package rehearsal
