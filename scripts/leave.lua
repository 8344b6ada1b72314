-- leave.lua: removes a consumer that stops, if nothing is pending for it. Safe to repeat.
--
-- KEYS (one hash slot)
--   1  orders     stream
--   2  consumers  sorted set  consumer name -> time of its last heartbeat
-- ARGV
--   1  group
--   2  name
--
-- Returns how many entries are pending for the consumer, at most 1: with 0 it is gone; with 1 it stays, as
-- Redis would forget its entries, and without a heartbeat, so that another consumer takes them over.

redis.call('ZREM', KEYS[2], ARGV[2])
if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
local pending = redis.pcall('XPENDING', KEYS[1], ARGV[1], '-', '+', '1', ARGV[2])
if pending['err'] then
  return 0 -- there is no such group, and so no consumer
end
if #pending == 0 then
  redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
end
return #pending
