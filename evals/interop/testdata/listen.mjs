// Loaded before a program, has its HTTP servers listen on a free port of loopback
// instead of theirs, and says which on stderr.
import { Server } from 'node:net';

const listen = Server.prototype.listen;
Server.prototype.listen = function (...args) {
  const ready = args.find((arg) => typeof arg === 'function');
  this.once('listening', () => console.error(`listening on ${this.address().port}`));
  return listen.call(this, 0, '127.0.0.1', ready);
};
