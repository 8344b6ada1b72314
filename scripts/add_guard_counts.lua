-- add_guard_counts.lua: adds an instance's counts of a sale's guards to the counts that all instances share.
--
-- KEYS
--   1  guards            hash        what was counted -> how often
--   2  stopped networks  sorted set  network -> requests that guards stopped, or would have
--   3  unit networks     sorted set  network -> units
-- ARGV
--   1  how long all keys are kept after the last addition, milliseconds
--   2  how many networks each sorted set keeps: those with the highest counts
--   3  how many pairs are for the hash
--   4  how many pairs are for the stopped networks; the others are for the networks with units
--   5… pairs: what or which network, how many
--
-- Returns how many counts were raised. Do not repeat it: that would count twice.
--
-- Needs: keys

local counts, stopped = tonumber(ARGV[3]), tonumber(ARGV[4])
local types = { 'hash', 'zset', 'zset' }

-- A key of another type was written by hand, and is replaced: otherwise every flush from now on would fail.
for i, key in ipairs(KEYS) do
  remove_unless(types[i], key)
end

for i = 5, #ARGV, 2 do
  local pair = (i - 5) / 2
  if pair >= counts then
    redis.call('ZINCRBY', KEYS[pair < counts + stopped and 2 or 3], ARGV[i + 1], ARGV[i])
  elseif type(redis.pcall('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1])) ~= 'number' then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  end
end
for i, key in ipairs(KEYS) do
  if i > 1 then
    redis.call('ZREMRANGEBYRANK', key, 0, -tonumber(ARGV[2]) - 1)
  end
  redis.call('PEXPIRE', key, ARGV[1])
end
return (#ARGV - 4) / 2
