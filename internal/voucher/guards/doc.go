// Package guards has the settings of the guards that keep bots from taking a sale: the settings of a sale ([Settings],
// stored in tb_voucher), an admin's change of them ([Change]), and their bounds. The guards themselves are in the
// feature guard.
package guards
