// Package entry tests deploy/nginx/nginx.conf, the entry of the compose stack, in a real nginx: what it forwards, what
// it refuses and how, what it logs, and that it serves buyers during attacks with slow bodies, unfinished bodies and
// unfinished headers. The attackers have addresses from 127.0.0.2 on. The instances behind the entry are a few lines of
// Go.
//
// Debian's nginx is older than the image's and cannot resolve names again. Apart from that and the addresses, the
// configuration is unchanged. Package compose checks the file as text.
package entry
