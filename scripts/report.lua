-- report.lua: hands in an instance's recovery report about a stopped sale, or a part of the report. Safe to repeat.
--
-- KEYS (one hash slot)
--   1  sale       hash
--   2  reports    hash  order, as in seckill.lua's buyers -> "user id epoch sequence"
--   3  reported   hash  reporter that is done -> "epoch sequence", the highest mark it has seen
-- ARGV
--   1  stop      when the sale was stopped, milliseconds since 1970, as returned by report_heartbeat.lua; a report for
--                 another stop is refused
--   2  reporter  "" if more parts follow
--   3  epoch, 4 sequence  the highest mark that the reporter has seen
--   5… order, user id, epoch, sequence of each order that the reporter accepted, 0 to 1,000
--
-- Returns an array of two: 1 (handed in) or 0 (too late: that stop is over); and the sale's epoch.
--
-- Needs: number

local stop = tonumber(ARGV[1])
local n = (#ARGV - 4) / 4
if not stop or n < 0 or n > 1000 or n ~= math.floor(n) then
  return redis.error_reply('ERR report.lua: bad arguments')
end
local sale = redis.call('HMGET', KEYS[1], 'stopped', 'building', 'epoch')
local epoch = number(sale[3]) or 0
if number(sale[1]) ~= stop or (number(sale[2]) or 0) == 0 then
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
