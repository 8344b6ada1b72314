-- begin_rebuild.lua: stops a sale so that it can be rebuilt at a new epoch. Safe to repeat.
--
-- KEYS (one hash slot)
--   1  sale       hash; created if missing
--   2  stops      sorted set  sale -> time of its last stop, milliseconds since 1970; reporters read it
--   3  reports    hash  the recovery reports; deleted when the sale is stopped
--   4  reported   hash  which reporters are done; deleted when the sale is stopped
--   5  buyers     hash  user id -> order id
-- ARGV
--   1  voucher id
--   2  epoch  the rebuild's epoch, its fencing token
--   3  delay  the longest time, in milliseconds, for which instances may answer SOLD_OUT from their cache (rule 11,
--             docs/architecture.md)
--   4  alone  "1": no instance remembers a sale that is missing here, because this Redis started empty and only this
--             process uses it; else "0"
--
-- Returns 1 (the sale is stopped, building = epoch) or 0 (superseded: a newer rebuild has begun, or the sale is
-- open at this epoch or a later one); the error FORMAT where the partition has other data (format.lua).
--
-- At epoch 0, which every sale has passed, it answers 0 if Redis accepts writes, and otherwise Redis's error: so the
-- caller learns of the error before it raises the ledger's epoch.
--
-- The rebuild may find units in the ledger that instances have cached as sold out. This Redis cannot tell, because it
-- may have lost writes. So a sale that was open before resumes selling only when no cache can say that it is sold out
-- any more (the field resumes); until then it behaves as if paused. If a rebuild dies, the next one continues the same
-- stop, unless the server was restarted or replaced in between: then the sale may have been published and sold since,
-- and Redis may have lost that.
--
-- A key of another type is removed, and a field that is not a number counts as missing: somebody wrote it by hand. The
-- same applies to an epoch that is further ahead than a ledger restored from a backup could explain.
--
-- Needs: clock, format, keys, number, sale, server

local epoch, delay = tonumber(ARGV[2]), tonumber(ARGV[3])
if not (epoch and delay) or #ARGV ~= 4 then
  return redis.error_reply('ERR begin_rebuild.lua: bad arguments')
end
local refused = other_data(true)
if refused then
  return refused
end
for i, wanted in ipairs({'hash', 'zset', 'hash', 'hash', 'hash'}) do
  remove_unless(wanted, KEYS[i])
end
-- Changes nothing: XX adds no member, and an existing member keeps its score. But a full or read-only Redis refuses it.
redis.call('ZADD', KEYS[2], 'XX', redis.call('ZSCORE', KEYS[2], ARGV[1]) or '0', ARGV[1])
local names = {'epoch', 'seq', 'stock', 'returned', 'returned_at', 'begin', 'end', 'op', 'building', 'mode',
  'resumes', 'stopped', 'server'}
local sale = redis.call('HMGET', KEYS[1], unpack(names))
for _, i in ipairs({1, 9}) do -- epoch and building
  if sale[i] and (number(sale[i]) or epoch + MAX_LEAD) >= epoch + MAX_LEAD then
    sale[i] = false
  end
end
if (number(sale[1]) or 0) >= epoch or (number(sale[9]) or 0) > epoch then
  return 0
end
local server = run_id()
local fields = {'mode', 'rebuild', 'building', ARGV[2], 'server', server}
local stopped
if (number(sale[9]) or 0) == 0 or (sale[13] or '') ~= server then -- the first attempt to rebuild it on this server
  local now = clock()
  stopped = math.max(now, (number(sale[12]) or 0) + 1) -- each stop of a sale has its own time
  fields[7], fields[8] = 'stopped', whole(stopped)
  if sale[10] or not (epoch == 1 or ARGV[4] == '1') then
    fields[9], fields[10] = 'resumes', whole(now + delay)
  elseif not number(sale[11]) then -- it was never open
    fields[9], fields[10] = 'resumes', '0'
  end
end
for i = 1, 8 do
  if not number(sale[i]) then -- missing or unreadable
    fields[#fields + 1] = names[i]
    fields[#fields + 1] = '0'
  end
end
redis.call('HSET', KEYS[1], unpack(fields))
if stopped then
  redis.call('DEL', KEYS[3], KEYS[4])
  redis.call('ZADD', KEYS[2], whole(stopped), ARGV[1])
end
return 1
