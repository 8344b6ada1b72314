// Package rehearsal compares the forecasts of rehearsals with the sales that follow them.
package rehearsal
