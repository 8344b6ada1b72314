-- add_counts.lua: adds an instance's counts of answers to a sale's counts, which all instances share.
--
-- KEYS
--   1  outcomes  hash  answer, or bucket of durations -> how many requests
-- ARGV
--   1  how long the counts are kept after the last addition, milliseconds
--   2… pairs: answer or bucket, how many
--
-- Returns how many counts were raised. Do not repeat it: that would count twice.
--
-- Needs: keys

-- A key of another type was written by hand, and is replaced: otherwise every flush from now on would fail.
remove_unless('hash', KEYS[1])
for i = 2, #ARGV, 2 do
  if type(redis.pcall('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1])) ~= 'number' then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  end
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return (#ARGV - 1) / 2
