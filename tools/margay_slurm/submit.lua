-- SPDX-License-Identifier: GPL-2.0-only
-- What job_submit.lua asks: may this job have the image that it names? The answer is a file that `margay-slurm images` writes,
-- since slurmctld does nothing else while this runs. Where that file is missing all are let in: each node judges its image.
--
--     local margay = dofile("/usr/share/margay-slurm/tools/margay_slurm/submit.lua")
--     function slurm_job_submit(job, partitions, uid) return margay.judge(job, partitions) end
--     function slurm_job_modify(job, record, partitions, uid) return margay.judge_change(job, record, partitions) end

local margay = { path = "/var/lib/margay-slurm/images" }

-- {default, partitions = {name = true}, images = {name = true or why not}}; nil: there is no such file.
local function read()
	local file = io.open(margay.path, "r")
	if not file then
		return nil
	end
	local known = { partitions = {}, images = {}, names = {} }
	for line in file:lines() do
		local kind, name, why = line:match("^(%S+)\t([^\t]*)\t?(.*)$")
		if kind == "good" or kind == "bad" then
			known.images[name] = kind == "good" or why
			table.insert(known.names, name)
		elseif kind == "partition" then
			known.partitions[name] = true
		elseif kind then
			known[kind] = name
		end
	end
	file:close()
	return known
end

-- The images that an expression of features names, each once.
local function named(features, known)
	local found, seen = {}, {}
	for name in features:gmatch("[^&|%[%]()*,%s]+") do
		if known.images[name] ~= nil and not seen[name] then
			seen[name] = true
			table.insert(found, name)
		end
	end
	return found
end

-- Whether one of these partitions (a list of names; nil: the default) has VMs of images.
local function is_ours(names, partitions, known)
	if names == nil or names == "" then
		for name in pairs(known.partitions) do
			local one = partitions and partitions[name]
			if one ~= nil and one.flag_default == 1 then
				return true
			end
		end
		return false
	end
	for name in names:gmatch("[^,]+") do
		if known.partitions[name] then
			return true
		end
	end
	return false
end

-- A sentence that says why not, or nil.
local function why_not(features, known)
	local found = named(features or "", known)
	if #found > 1 then
		return "the job names the images " .. table.concat(found, " and ") .. ": a job has one"
	end
	local name = found[1] or known.default
	if name == nil or name == "" then
		return "the job names no image: sbatch -C NAME, of " .. table.concat(known.names, ", ")
	end
	if known.images[name] == true then
		return nil
	end
	return known.images[name] or ("image " .. name .. ", this site's default, is none of its images")
end

local function answer(why)
	if why == nil then
		return slurm.SUCCESS
	end
	slurm.log_user("margay: %s", why)
	return slurm.ERROR
end

function margay.judge(job, partitions)
	local known = read()
	if known == nil or not is_ours(job.partition, partitions, known) then
		return slurm.SUCCESS
	end
	return answer(why_not(job.features, known))
end

-- Of a job that is changed only what is new is looked at.
function margay.judge_change(job, record, partitions)
	local known = read()
	if known == nil or job.features == nil or not is_ours(job.partition or record.partition, partitions, known) then
		return slurm.SUCCESS
	end
	return answer(why_not(job.features, known))
end

return margay
