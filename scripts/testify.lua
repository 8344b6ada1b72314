-- testify.lua: hands in what a witness remembers of a sale that stands still. Safe to repeat.
--
-- KEYS (one hash slot)
--   1  sale       hash
--   2  testified  hash  order id -> "user id epoch sequence"
--   3  heard      hash  witness that has said all -> "epoch sequence", the highest mark it has seen
-- ARGV
--   1  stop      when the sale was stopped, as attend.lua told: what is meant for another rebuild is of no use to this one
--   2  witness, "" when there is more to come
--   3  epoch, 4 sequence  of the highest mark that it has seen
--   5… order id, user id, epoch, sequence of each order that it has seen accepted, at most 1,000
--
-- Returns an array of two: 1 (handed in) or 0 (too late, the sale no longer stands still for that rebuild), and the sale's
-- epoch.

local stop = tonumber(ARGV[1])
local n = (#ARGV - 4) / 4
if not stop or n < 0 or n > 1000 or n ~= math.floor(n) then
  return redis.error_reply('ERR testify.lua: bad arguments')
end
local sale = redis.call('HMGET', KEYS[1], 'stopped', 'building', 'epoch')
local epoch = tonumber(sale[3] or '0') or 0
if tonumber(sale[1] or '') ~= stop or (tonumber(sale[2] or '0') or 0) == 0 then
  return {0, epoch}
end
local fields = {}
for i = 5, #ARGV, 4 do
  fields[#fields + 1] = ARGV[i]
  fields[#fields + 1] = ARGV[i + 1] .. ' ' .. ARGV[i + 2] .. ' ' .. ARGV[i + 3]
end
if #fields > 0 then
  redis.call('HSET', KEYS[2], unpack(fields))
end
if ARGV[2] ~= '' then
  redis.call('HSET', KEYS[3], ARGV[2], ARGV[3] .. ' ' .. ARGV[4])
end
return {1, epoch}
