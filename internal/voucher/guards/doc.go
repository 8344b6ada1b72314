// Package guards is what the core knows of the guards that keep bots from taking a sale: what is set of each for a
// sale ([Settings], in tb_voucher), how an admin changes it ([Change]), and what may be set. How a guard works is the
// feature guard's.
package guards
