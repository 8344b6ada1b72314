// Package entry tests deploy/nginx/nginx.conf, the entry of the compose stack, in a real nginx: what it lets through,
// what it refuses and how, what it logs, and that buyers are served while it is attacked with slow bodies, unfinished
// bodies and unfinished headers. The attackers come from 127.0.0.2 and on. The instances behind it are a few lines of
// Go.
//
// Debian's nginx is older than the image's and cannot look up names again; with the addresses, that is all that is
// changed in the configuration. Package compose checks the file as text.
package entry
